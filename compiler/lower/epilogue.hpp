// What happens to the pieces of a tensor that is never stored: Builder hands the producer's writes of it to an epilogue.
#pragma once

#include "compiler/lower/builder.hpp"

namespace systole::lower {

class Epilogue {
 public:
  Epilogue() = default;
  Epilogue(const Epilogue&) = delete;
  Epilogue& operator=(const Epilogue&) = delete;
  virtual ~Epilogue() = default;

  // The tile that the producer fills for this region, and what follows when it is full.
  [[nodiscard]] virtual Tile open(const Region& region) = 0;
  virtual void close(const Region& region, const Tile& tile) = 0;
  // Whether the producer's tiles lie in resident storage, as far as that region allows.
  [[nodiscard]] virtual bool resident() const = 0;
  [[nodiscard]] virtual bool in_place(const Region& region) const = 0;
};

}  // namespace systole::lower
