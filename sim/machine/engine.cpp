#include "sim/machine/engine.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "sim/machine/dma_rows.hpp"

namespace systole::sim {
namespace {

bool is_transfer(const isa::Operation& operation) {
  return operation.holds<isa::Dma>() || operation.holds<isa::DmaIndirect>();
}

bool is_control(const isa::Operation& operation) {
  return is_transfer(operation) || operation.holds<isa::Nop>();
}

// The function whose table an operation needs. A copy needs none.
std::optional<isa::Function> table_of(const isa::Operation& operation) {
  if (const auto* load = operation.get_if<isa::LoadTable>()) {
    return load->function;
  }
  const auto* activation = operation.get_if<isa::Activation>();
  if (activation == nullptr || activation->function == isa::Function::copy) {
    return std::nullopt;
  }
  return activation->function;
}

}  // namespace

Engine::Engine(isa::Engine which, Shared& shared)
    : which_(which),
      shared_(shared),
      stream_(shared.program.streams[static_cast<std::size_t>(which)]),
      semaphore_stalls_(stream_.empty() ? 0 : static_cast<std::size_t>(shared.program.semaphores)) {
  if (which == isa::Engine::tensor) {
    array_.emplace(shared.machine, shared.timing);
  }
  if (!finished()) {
    decode();
    shared_.clock.wake(static_cast<int>(which_), ready_);
  }
}

bool Engine::on_datapath() const {
  return !is_control(stream_[next_].operation);
}

void Engine::decode() {
  const isa::Operation& operation = stream_[next_].operation;
  operands_ = operands_of(operation, shared_.machine);
  cost_ = cost_of(operation, which_, shared_.machine, shared_.timing);
  ready_ = pipeline_ready(blocked_by_);
}

Ticks Engine::pipeline_ready(Stall& cause) const {
  const isa::Operation& operation = stream_[next_].operation;
  cause = Stall::issue;
  if (!on_datapath()) {
    // Control instructions follow the elements of what came before: a transfer may read its result.
    return std::max(sequencer_free_, stream_end_);
  }
  if (array_) {
    return std::max(sequencer_free_, array_->ready(operation));
  }
  Ticks ready = std::max(sequencer_free_, datapath_free_);
  if (const auto table = table_of(operation); table && (!function_loaded_ || *table != function_)) {
    cause = Stall::table;
    ready += ticks_of_ns(shared_.timing, shared_.timing.table_load_ns);
  }
  const Ticks turn_around = ticks_of_ns(shared_.timing, shared_.timing.dependency_ns);
  for (const Recent& recent : recent_) {
    if (recent.end + turn_around <= ready) {
      continue;
    }
    for (int i = 0; i < operands_.read_count; ++i) {
      if (overlaps(recent.box, operands_.reads[static_cast<std::size_t>(i)])) {
        ready = recent.end + turn_around;
        cause = Stall::dependency;
        break;
      }
    }
  }
  return ready;
}

void Engine::account(Ticks now, Stall cause) {
  if (now <= accounted_) {
    return;
  }
  const Ticks waited = now - accounted_;
  report_.idle[static_cast<std::size_t>(cause)] += waited;
  if ((cause == Stall::dma || cause == Stall::semaphore) && blocked_on_.valid()) {
    semaphore_stalls_[blocked_on_.index()] += waited;
  }
  accounted_ = now;
}

bool Engine::wait_for_semaphores(Ticks now) {
  for (const isa::SemaphoreWait& wait : stream_[next_].waits) {
    const Semaphores::Reach reach = shared_.semaphores.reach(which_, wait, now);
    if (reach.known && reach.at <= now) {
      if (blocked_on_ == wait.semaphore) {
        account(now, reach.from_dma ? Stall::dma : Stall::semaphore);
        if (shared_.trace != nullptr) {
          shared_.trace->flows.push_back({reach.origin, reach.served, static_cast<int>(which_),
                                          static_cast<std::int64_t>(next_)});
        }
        blocked_on_ = isa::SemaphoreId();
      }
      continue;
    }
    blocked_on_ = wait.semaphore;
    if (reach.known) {
      shared_.clock.wake(static_cast<int>(which_), reach.at);
    }
    return false;
  }
  shared_.semaphores.stop_waiting(which_);
  return true;
}

bool Engine::wait_for_ports(Ticks now) {
  if (!on_datapath()) {
    return true;
  }
  const Ports::Grant grant = shared_.ports.earliest(which_, operands_, cost_.performance_mode, now);
  if (grant.at <= now) {
    return true;
  }
  blocked_by_ = grant.bank ? Stall::bank : Stall::port;
  shared_.clock.wake(static_cast<int>(which_), grant.at);
  return false;
}

void Engine::step(Ticks now) {
  if (finished() || shared_.stopped) {
    return;
  }
  if (ready_ > now) {
    shared_.clock.wake(static_cast<int>(which_), ready_);
    return;
  }
  if (!blocked_on_.valid()) {
    account(now, blocked_by_);
  }
  if (!wait_for_semaphores(now) || !wait_for_ports(now)) {
    return;
  }
  issue(now);
  if (!finished() && !shared_.stopped) {
    decode();
    shared_.clock.wake(static_cast<int>(which_), std::max(ready_, now));
  }
}

void Engine::issue(Ticks now) {
  const isa::Instruction& instruction = stream_[next_];
  if (!shared_.execution.perform(which_, next_)) {
    shared_.stopped = true;
    return;
  }
  Ticks begin = now;
  Ticks end = now + cost_.stream;
  Ticks busy_until = now + cost_.busy;
  sequencer_free_ = now + ticks_of_cycles(shared_.timing, which_, 1);
  if (!on_datapath()) {
    sequencer_free_ = end;
  } else if (array_) {
    const ArrayClock::Span span = array_->start(instruction.operation, cost_, now);
    begin = span.begin;
    end = span.end;
    busy_until = end;
    account(begin, Stall::issue);
  } else {
    datapath_free_ = now + cost_.interval;
  }
  if (on_datapath()) {
    shared_.ports.hold(which_, operands_, cost_.performance_mode, end);
    stream_end_ = std::max(stream_end_, end);
    for (int i = 0; i < operands_.write_count; ++i) {
      recent_[recent_next_++ % recent_count] = {operands_.writes[static_cast<std::size_t>(i)], end};
    }
    if (const auto table = table_of(instruction.operation)) {
      function_ = *table;
      function_loaded_ = true;
    }
  }
  count(instruction, begin, busy_until);
  if (is_transfer(instruction.operation)) {
    start_transfer(instruction, end);
  } else {
    complete(instruction, end + cost_.latency, busy_until);
  }
  ++next_;
}

void Engine::count(const isa::Instruction& instruction, Ticks begin, Ticks end) {
  const Ticks from = std::max(begin, accounted_);
  if (end > from) {
    report_.busy += end - from;
    accounted_ = end;
  }
  shared_.end = std::max(shared_.end, end);
  ++report_.instructions;
  if (instruction.source.valid() && instruction.source.index() < shared_.report.sources.size()) {
    SourceReport& source = shared_.report.sources[instruction.source.index()];
    source.instructions += 1;
    source.busy += end > from ? end - from : Ticks(0);
  }
  if (which_ != isa::Engine::sync) {
    shared_.attribution.serve(static_cast<int>(which_), instruction.source, begin, end);
  }
  if (const auto* multiply = instruction.operation.get_if<isa::Multiply>()) {
    const std::int64_t cells = std::int64_t{multiply->moving.partitions} * multiply->out.partitions;
    shared_.report.multiply_accumulates += isa::free_elements(multiply->moving) * cells;
    shared_.cell_cycles += isa::columns_of(*multiply) * cells;
  }
  if (shared_.trace != nullptr) {
    shared_.trace->slices.push_back({static_cast<int>(which_), instruction.source,
                                     isa::name_of(instruction.operation),
                                     static_cast<std::int64_t>(next_), begin, end});
  }
}

void Engine::start_transfer(const isa::Instruction& instruction, Ticks now) {
  TransferShape shape;
  int ring = 0;
  if (const auto* dma = instruction.operation.get_if<isa::Dma>()) {
    shape = shape_of(*dma, shared_.machine, shared_.timing);
    ring = dma->ring;
  } else {
    const auto& indirect = instruction.operation.get<isa::DmaIndirect>();
    shape = shape_of(indirect, shared_.machine, shared_.timing);
    ring = indirect.ring;
  }
  Report& report = shared_.report;
  report.hbm_read_bytes += shape.hbm_read;
  report.hbm_written_bytes += shape.hbm_written;
  report.onchip_dma_bytes += shape.hbm_read + shape.hbm_written == 0 ? shape.bytes : 0;
  if (instruction.source.valid() && instruction.source.index() < report.sources.size()) {
    report.sources[instruction.source.index()].dma_bytes += shape.bytes;
  }
  const auto tag = static_cast<std::int64_t>(next_);
  shared_.dma.trigger(shape, ring, instruction.source, instruction.signal, tag, now);
}

void Engine::complete(const isa::Instruction& instruction, Ticks at, Ticks served) {
  last_completion_ = std::max(last_completion_, at);
  shared_.end = std::max(shared_.end, last_completion_);
  if (instruction.signal.valid()) {
    const Ticks seen = last_completion_ + ticks_of_ns(shared_.timing, shared_.timing.semaphore_ns);
    shared_.semaphores.increment(instruction.signal, seen, false, static_cast<int>(which_),
                                 served);
  }
}

EngineReport Engine::finish(Ticks total) {
  account(total, Stall::finished);
  return report_;
}

}  // namespace systole::sim
