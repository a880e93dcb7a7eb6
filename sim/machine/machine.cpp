// The thin SystemC shell: one module with one process, which lets the core serve what is due at this instant, in the core's
// written order, and then sleeps until the core's next activation. One tick is one unit of kernel time.
//
// SystemC allows one elaboration per process and its time only moves forward. So the shell is elaborated once, the first
// time it is needed, and lives until the process ends; each run starts where the kernel's clock stands and counts its own
// time from there. Runs are serialised by a mutex: the kernel is not reentrant.
#include "sim/machine/machine.hpp"

#include <mutex>
#include <systemc>

#include "isa/base/error.hpp"
#include "sim/machine/core.hpp"

namespace systole::sim {
namespace {

class Shell : public sc_core::sc_module {
 public:
  explicit Shell(const sc_core::sc_module_name& name) : sc_core::sc_module(name) {
    SC_HAS_PROCESS(Shell);
    SC_METHOD(activate);
    dont_initialize();
    sensitive << due_;
  }

  // To the core's last event.
  void run(Core& core) {
    core_ = &core;
    start_ = kernel_time();
    sleep_until(core.next_due());
    if (sc_core::sc_pending_activity()) {
      sc_core::sc_start();
    }
    core_ = nullptr;
  }

 private:
  static Ticks kernel_time() {
    return Ticks(static_cast<std::int64_t>(sc_core::sc_time_stamp().value()));
  }
  void sleep_until(Ticks at) {
    const Ticks now = kernel_time() - start_;  // of the current run
    if (at == Core::never) {
      return;
    }
    if (at <= now) {
      due_.notify(sc_core::SC_ZERO_TIME);
    } else {
      due_.notify(sc_core::sc_time::from_value(static_cast<std::uint64_t>((at - now).count())));
    }
  }
  void activate() { sleep_until(core_->dispatch(kernel_time() - start_)); }

  sc_core::sc_event due_;
  Core* core_ = nullptr;
  Ticks start_;
};

// One per process, never destroyed: the kernel outlives every run.
Shell& shell() {
  static Shell* const instance = new Shell("machine");
  return *instance;
}

}  // namespace

void run_machine(const isa::Program& program, const isa::Machine& machine, const Timing& timing,
                 Execution& execution, const Options& options, Outcome& outcome) {
  static std::mutex kernel;
  const std::lock_guard<std::mutex> lock(kernel);
  Core core(program, machine, timing, execution, options);
  shell().run(core);
  core.finish(outcome);
}

}  // namespace systole::sim

// The library's own main is not used; the symbol has to exist.
int sc_main(int, char**) {
  return 0;
}
