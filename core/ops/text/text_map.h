/// Ops that make something of each text by itself.
#pragma once

#include <string>

#include "core/op/kernel.h"
#include "core/ops/kit/element.h"

namespace emplace {

/// out[i] = f(text[i]); f gives a T or a Result<T>.
template <class T, class F>
Status map_texts(KernelContext& c, const F& f) {
  RETURN_IF_ERROR(ensure_output(c, 0, c.input(0).shape()));
  for (int64_t i = 0; i < c.input(0).num_elements(); ++i) {
    const std::string& text = c.in<std::string>(0)[i];
    if constexpr (std::is_convertible_v<decltype(f(text)), T>) {
      c.out<T>(0)[i] = f(text);
    } else {
      ASSIGN_OR_RETURN(c.out<T>(0)[i], f(text));
    }
  }
  return ok_status();
}

}  // namespace emplace
