/// How fast the processor is just now: what a fixed piece of work takes that depends on nothing but it.
#pragma once

namespace emplace {

/// Microseconds: some 5 where nothing else runs on this core or on its other thread, measured twice.
/// Additions that wait for each other, and others that do not, in loops so short that a core which takes its
/// instructions from two threads in turn is half as fast. On a virtual machine nothing else tells of the neighbours'
/// load: the processor's time is counted as ours.
double measure_pace_us();
/// Of the slowest of so many of the pool's threads, all of them measured at once. Times two if only half of them got a
/// processor within a fifth of a millisecond, and so on.
double measure_pace_us(int threads);

}  // namespace emplace
