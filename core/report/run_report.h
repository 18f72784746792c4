/// What `emplace run` says about a run beside its results: the summary line, the memory table, the JSON document.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.h"
#include "core/device/device_text.h"
#include "core/run/session.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// "peak GPU:0 5.1/16.0 GiB, CPU:0 96 B": every device that held something, GPUs first; empty if none did.
std::string peak_text(const DeviceSet& devices, const std::vector<DeviceMemory>& memory);
/// The same of peaks by device, as far as they are known.
std::string peak_text(const DeviceSet& devices, const std::vector<std::optional<int64_t>>& peaks);

/// --memory-report: a row per device, then what was live at each peak.
std::string memory_table(const DeviceSet& devices, const std::vector<DeviceMemory>& memory, size_t line_width = 0);
std::string memory_json(const DeviceSet& devices, const std::vector<DeviceMemory>& memory);

/// {"n": ..., "min": ..., "p50": ..., ...}: microseconds of the steps that count. Nearest-rank percentiles.
void write_step_times(JsonWriter& json, std::vector<double> step_us);

/// "step 3.3 us p50, 3.6 p90": the same in short. REQUIRES: there is one.
std::string step_times_text(std::vector<double> step_us);

/// {"name": ..., "dtype": ..., "shape": [...], "data": [...]}: data flat, in row-major order. `drain` as in
/// write_json_elements().
void write_tensor(JsonWriter& json, std::string_view name, const Tensor& tensor,
                  const std::function<void()>& drain = {});

/// The same of a sequence of tensors: in place of shape and data "list": [{"shape": [...], "data": [...]}, ...], or
/// null, if there is none.
void write_sequence(JsonWriter& json, std::string_view name, DType dtype, const std::vector<Tensor>* elements,
                    const std::function<void()>& drain = {});

/// {"code": "INVALID_ARGUMENT", "message": "..."}, or null for OK.
void write_error(JsonWriter& json, const Status& status);

}  // namespace emplace
