#include "compiler/solver/exact/kernel.hpp"

#include <algorithm>

namespace systole::solver::exact {
namespace {

// Bodies are forced inline so that each entry point below compiles them for its own instruction set.
template <class T, int values, int factors>
[[gnu::always_inline]] inline void fixed_run(const Run<T>& run) {
  const T* tables[static_cast<std::size_t>(values * factors)];
  T scalar[static_cast<std::size_t>(values)];
  for (int i = 0; i < values * factors; ++i) {
    tables[i] = run.vectors[i];
  }
  for (int x = 0; x < values; ++x) {
    scalar[x] = run.scalar[x];
  }
  T* __restrict out = run.out;
  std::uint16_t* __restrict choice = run.choice;
  for (std::size_t i = 0; i < run.length; ++i) {
    T best = 0;
    for (int x = 0; x < values; ++x) {
      T sum = scalar[x];
      for (int f = 0; f < factors; ++f) {
        sum += tables[f * values + x][i];
      }
      best = x == 0 ? sum : std::min(best, sum);
    }
    choice[i] = static_cast<std::uint16_t>(best & run.mask);
    out[i] = std::min<T>(best & ~run.mask, run.cap);
  }
}

template <class T>
[[gnu::always_inline]] inline void any_run(const Run<T>& run) {
  T* __restrict out = run.out;
  constexpr std::size_t step = 1024;
  T sum[step];
  for (std::size_t begin = 0; begin < run.length; begin += step) {
    const std::size_t n = std::min(step, run.length - begin);
    for (int x = 0; x < run.values; ++x) {
      const T first = run.scalar[x];
      if (run.factors == 0) {
        std::fill_n(sum, n, first);
      }
      for (int f = 0; f < run.factors; ++f) {
        const T* __restrict table = run.vectors[f * run.values + x] + begin;
        for (std::size_t i = 0; i < n; ++i) {
          // Capped at every step: any number of tables may be added up. The low bits stay x.
          sum[i] = f == 0 ? table[i] + first : std::min<T>(sum[i], run.cap + x) + table[i];
        }
      }
      for (std::size_t i = 0; i < n; ++i) {
        out[begin + i] = x == 0 ? sum[i] : std::min(out[begin + i], sum[i]);
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      const T best = out[begin + i];
      run.choice[begin + i] = static_cast<std::uint16_t>(best & run.mask);
      out[begin + i] = std::min<T>(best & ~run.mask, run.cap);
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void dispatch(const Run<T>& run) {
  if (run.factors == 1 && run.values == 2) {
    fixed_run<T, 2, 1>(run);
  } else if (run.factors == 1 && run.values == 3) {
    fixed_run<T, 3, 1>(run);
  } else if (run.factors == 1 && run.values == 4) {
    fixed_run<T, 4, 1>(run);
  } else if (run.factors == 2 && run.values == 2) {
    fixed_run<T, 2, 2>(run);
  } else if (run.factors == 2 && run.values == 3) {
    fixed_run<T, 3, 2>(run);
  } else if (run.factors == 2 && run.values == 4) {
    fixed_run<T, 4, 2>(run);
  } else if (run.factors == 1 && run.values == 7) {
    fixed_run<T, 7, 1>(run);
  } else {
    any_run<T>(run);
  }
}

void plain32(const Run<std::int32_t>& run) {
  dispatch(run);
}
void plain64(const Run<std::int64_t>& run) {
  dispatch(run);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void wide32(const Run<std::int32_t>& run) {
  dispatch(run);
}
[[gnu::target("avx2")]] void wide64(const Run<std::int64_t>& run) {
  dispatch(run);
}

bool has_wide() {
  return __builtin_cpu_supports("avx2") != 0;
}
#else
void wide32(const Run<std::int32_t>& run) {
  dispatch(run);
}
void wide64(const Run<std::int64_t>& run) {
  dispatch(run);
}

bool has_wide() {
  return false;
}
#endif

}  // namespace

Kernel<std::int32_t> kernel32() {
  return has_wide() ? wide32 : plain32;
}
Kernel<std::int64_t> kernel64() {
  return has_wide() ? wide64 : plain64;
}

}  // namespace systole::solver::exact
