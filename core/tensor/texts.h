/// What the texts of a tensor of strings take beside the tensor itself, counted against the limit of host memory.
#pragma once

#include <string>

#include "core/base/status.h"

namespace emplace {

class Buffer;
class Tensor;

/// The elements from number `first` on become `text`. ResourceExhausted: the limit of host memory does not allow what
/// the copies take beside the tensor's own size. REQUIRES: strings, of Tensor::allocate().
Status repeat_text(Tensor& strings, int64_t first, const std::string& text);

/// The elements of `to` become those of `from`. ResourceExhausted as above. REQUIRES: strings, as many in both.
Status copy_texts(const Tensor& from, Tensor& to);

/// Counts the texts that are in the buffer now, in place of what was counted before; nothing if it holds no strings.
Status recount_texts(Buffer* buffer);
/// Other texts were written to the tensor: they are counted when the kernel that this thread runs has ended, else now.
Status texts_changed(const Tensor& strings);

}  // namespace emplace
