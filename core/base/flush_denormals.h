/// FlushDenormals: denormal floats are zero while kernels run.
#pragma once

namespace emplace {

/// While alive, this thread treats denormal floats as zero, as TensorFlow's threads do.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace emplace
