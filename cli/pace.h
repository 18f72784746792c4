/// How fast the processor is just now: what a fixed piece of work takes that depends on nothing but it.
#pragma once

namespace emplace {

/// Microseconds, of some 5 where nothing else runs on this core or on its other thread; it takes some 20. Additions
/// that wait for each other, in a loop so short that a core which takes its instructions from two threads in turn is
/// half as fast. On a virtual machine nothing else tells of the neighbours' load: the processor's time is counted as
/// ours.
double measure_pace_us();

}  // namespace emplace
