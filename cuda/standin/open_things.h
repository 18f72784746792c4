/// What is open on the stand-in's machine: tests of what is given back ask.
#pragma once

#include <cstdint>

namespace emplace::standin {

struct OpenThings {
  uint64_t streams = 0, events = 0;  // not destroyed yet
  uint64_t calls_without_card = 0;   // so far, by threads that had chosen no card: they give the first one a context
};
OpenThings open_things();

}  // namespace emplace::standin
