// The options that several subcommands share, as the command line gives them; defaults are the documented ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace systole::driver {

struct ModelOptions {
  std::string model;  // ONNX file, recipe, name of a recipe; empty: the embedded default
  std::vector<std::string> dims;    // NAME=VALUE
  std::vector<std::string> inputs;  // NAME=FILE.npy
  std::string weights;              // "", "absent" or "random:SEED"
  std::uint64_t seed = 1;           // of inputs that are not given
};

struct TargetOptions {
  std::string machine = "trn1";  // name in configs/ or a file
  std::string costs;             // name or file; empty: the machine's analytic one
  std::string dtype = "bf16";    // bf16 or fp32
  int threads = 2;
};

struct SolveOptions {
  double budget_seconds = 0;      // 0: the strategy's own default
  std::int64_t memory_bytes = 0;  // 0: the solver's default
};

struct CompareOptions {
  ModelOptions model;
  TargetOptions target;
  SolveOptions solve;
  std::string strategies;  // a,b,c; empty: all that suit the problem
  bool timing_only = false;
  bool checks = true;  // the machine's race, initialisation and range checks
  bool list_conversions = false;
  bool terms = false;  // predicted and measured per operator
  std::string json;
};

struct CompileOptions {
  ModelOptions model;
  TargetOptions target;
  SolveOptions solve;
  std::string strategy = "exact";
  std::string output;      // empty: the program is printed
  std::string emit;        // asm, bin, problem, dot; empty: by the output's ending
  std::string dump_after;  // a stage: printed instead of, or besides, the output
};

struct RunOptions {
  ModelOptions model;
  TargetOptions target;
  SolveOptions solve;
  std::string strategy = "exact";
  std::string output_folder;
  std::vector<std::string> expect;  // NAME=FILE.npy
  double rtol = 1e-4;
  double atol = 1e-5;
  bool timing_only = false;
  bool checks = true;
  std::string trace;
  std::string report;
  std::string json;
};

struct InspectOptions {
  ModelOptions model;
  TargetOptions target;
  SolveOptions solve;
  std::string strategy = "exact";  // of the layouts in the drawing
  std::string dot;                 // file for a Graphviz drawing
};

struct BenchOptions {
  std::string suite;  // name in models/suites/ or a file
  TargetOptions target;
  SolveOptions solve;
  std::string strategies;          // a,b,c; empty: all
  std::string filter;              // part of a configuration's name
  std::string shard;               // I/N: every N-th configuration, from the I-th
  std::vector<std::string> merge;  // result files of other shards: taken over instead of running
  std::string output;              // result file; empty: SUITE.jsonl
  std::uint64_t seed = 1;          // of inputs and weights
  std::string traces;              // folder for timelines; empty: none
  int jobs = 2;                    // processes
  double memory_limit_gb =
      0;  // all processes together; 0: three quarters of the machine's, at most 8
  bool timing_only = false;
  bool predict_only = false;  // solve and predict, neither compile nor simulate
  bool checks = true;
  bool list = false;  // print the names, run nothing
};

struct ExplainOptions {
  ModelOptions model;
  TargetOptions target;
  SolveOptions solve;
  std::string strategy = "exact";
  std::string json;
};

struct DiffOptions {
  std::string first, second;  // files of systole explain --json
};

struct CalibrateOptions {
  TargetOptions target;
  std::vector<std::string> suites{"suite"};  // their configurations for calibration
  std::string output;                        // cost file; empty: MACHINE.calibrated.yaml
  std::string profile;      // measurements, kept and reused; empty: MACHINE.profile.jsonl
  std::string check;        // a cost file to judge instead of fitting one
  std::size_t probes = 12;  // layouts per configuration besides the best one
  std::size_t rounds = 3;   // of re-solving by the fitted prices, at most
  std::uint64_t seed = 1;
  int jobs = 2;  // processes
};

struct SolveFileOptions {
  std::string problem;
  SolveOptions solve;
  std::string strategy = "exact";
  std::vector<std::string> export_to;  // FORMAT FILE
  std::string decomposition;           // PACE .td file for the treewidth strategy
  std::string result;                  // file for the result
  std::string json;                    // file for the result as a JSON line
  int threads = 2;
};

// The files that a command with these options reads: outputs must not replace them.
std::vector<std::string> files_read(const ModelOptions& model, const TargetOptions& target);

// NAME=VALUE pairs; throws Error naming the option and the word.
std::map<std::string, std::string> pairs(const std::string& option,
                                         const std::vector<std::string>& words);

}  // namespace systole::driver
