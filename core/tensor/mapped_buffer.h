/// MappedBuffer: a tensor's bytes where a file is mapped. They take memory only as far as somebody looks at them, and
/// the system may take that back.
#pragma once

#include "core/tensor/tensor.h"

namespace emplace {

class MappedBuffer : public Buffer {
 public:
  using Buffer::Buffer;
};

}  // namespace emplace
