/// What the plug-in has to say beside its statuses: to the program's log (core/device/gpu.h, GpuLog).
#pragma once

#include <string_view>

#include "core/device/gpu.h"

namespace emplace::cuda {

void speak_to(GpuLog log);
/// From any thread.
void say(LogLevel level, std::string_view text);

}  // namespace emplace::cuda
