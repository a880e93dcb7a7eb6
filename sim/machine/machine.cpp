// The thin SystemC shell: one module with an event per unit (five engines, the DMA system) and one process that is
// sensitive to all of them. An activation of a unit is a timed notification of its event; at each instant the process
// runs once and lets the core serve what is due, in the core's written order. One tick is one unit of kernel time.
//
// SystemC allows one elaboration per process and its time only moves forward. So the shell is elaborated once, the first
// time it is needed, and lives until the process ends; each run starts where the kernel's clock stands and counts its own
// time from there. Runs are serialised by a mutex: the kernel is not reentrant.
#include "sim/machine/machine.hpp"

#include <array>
#include <mutex>
#include <systemc>

#include "isa/base/error.hpp"
#include "sim/machine/core.hpp"

namespace systole::sim {
namespace {

class Shell : public sc_core::sc_module, public Clock {
 public:
  explicit Shell(const sc_core::sc_module_name& name) : sc_core::sc_module(name) {
    SC_HAS_PROCESS(Shell);
    SC_METHOD(activate);
    dont_initialize();
    for (sc_core::sc_event& event : events_) {
      sensitive << event;
    }
  }

  void wake(int unit, Ticks at) override {
    const Ticks now = time();
    sc_core::sc_event& event = events_[static_cast<std::size_t>(unit)];
    if (at <= now) {
      event.notify(sc_core::SC_ZERO_TIME);
    } else {
      event.notify(sc_core::sc_time::from_value(static_cast<std::uint64_t>((at - now).count())));
    }
  }

  // Time of the current run.
  [[nodiscard]] Ticks time() const {
    return Ticks(static_cast<std::int64_t>(sc_core::sc_time_stamp().value())) - start_;
  }

  void begin() { start_ = Ticks(static_cast<std::int64_t>(sc_core::sc_time_stamp().value())); }
  void run(Core& core) {
    core_ = &core;
    if (sc_core::sc_pending_activity()) {
      sc_core::sc_start();
    }
    core_ = nullptr;
    for (sc_core::sc_event& event : events_) {
      event.cancel();
    }
  }

 private:
  void activate() {
    if (core_ != nullptr && !core_->dispatch(time())) {
      sc_core::sc_pause();
    }
  }

  std::array<sc_core::sc_event, unit_count> events_;
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
  Shell& clock = shell();
  clock.begin();
  Core core(program, machine, timing, execution, options, clock);
  clock.run(core);
  core.finish(outcome);
}

}  // namespace systole::sim

// The library's own main is not used; the symbol has to exist.
int sc_main(int, char**) {
  return 0;
}
