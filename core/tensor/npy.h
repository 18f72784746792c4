/// NumPy's files: .npy (format versions 1 to 3) and .npz (numpy/lib/format.py).
///
/// bfloat16 is kept as ml_dtypes saves it, as two raw bytes (|V2). Strings are read from |S and <U (as UTF-8) and
/// written as |S: an element loses trailing NULs, as NumPy's do.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/byte_sink.h"
#include "core/base/input_file.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// NotFound, or InvalidArgument for a damaged or foreign file: sizes are checked before anything is allocated. With
/// HostUse::kData the elements of a large file are its own pages where they lie as a tensor's do: it must not change.
Result<Tensor> read_npy(const std::string& path, const InputOptions& options = {});
/// The bytes of a .npy file; `name` is for messages.
Result<Tensor> parse_npy(std::string_view bytes, const std::string& name);
/// The same of a file that is open.
Result<Tensor> parse_npy(std::shared_ptr<const InputFile> file, const std::string& name, HostUse use);

/// One array of an .npz; it counts as what the caller reads (HostUseScope). NotFound lists the names that there are.
Result<Tensor> read_npz(const std::string& path, const std::string& key,
                        const InputOptions& options = {.use = HostUseScope::current()});
/// All of them, in the file's order.
Result<std::vector<std::pair<std::string, Tensor>>> read_npz(const std::string& path,
                                                             const InputOptions& options = {
                                                                 .use = HostUseScope::current()});
/// The same of the bytes of a file; `name` is for messages.
Result<std::vector<std::pair<std::string, Tensor>>> parse_npz(std::string_view archive, const std::string& name);

/// REQUIRES: host memory. Files are written as OutputFile does.
Status write_npy(const std::string& path, const Tensor& tensor);
/// What write_npy() and write_npz() write.
Status npy_to(const ByteSink& sink, const Tensor& tensor);
Status npz_to(const ByteSink& sink, const std::vector<std::pair<std::string, Tensor>>& arrays);
Status write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays);

}  // namespace emplace
