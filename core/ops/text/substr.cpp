// Substr: a part of each text, from a position on, of bytes or of characters.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status substr_shape(ShapeContext& c) {
  const Shape &pos = c.input(1), &len = c.input(2);
  if (pos.rank_known() && len.rank_known()) {
    RETURN_IF_ERROR(c.with_rank(1, len.rank()).take_status());
    for (int d = 0; d < pos.rank(); ++d) {
      if (pos.dim(d) >= 0 && len.dim(d) >= 0 && pos.dim(d) != len.dim(d))
        return invalid_argument(cat("pos and len shapes must match: ", pos.to_string(), " vs. ", len.to_string()));
    }
  }
  ASSIGN_OR_RETURN(Shape out, broadcast_shapes(c.input(0), pos));
  c.set_output(0, std::move(out));
  return ok_status();
}

/// Behind the character of UTF-8 that begins at `at`.
size_t behind_character(std::string_view text, size_t at) {
  do ++at;
  while (at < text.size() && (text[at] & 0xc0) == 0x80);
  return at;
}

/// Where character `number` begins, from the end if it is negative; nothing: there are not so many.
std::optional<size_t> place_of_character(std::string_view text, int64_t number) {
  if (number < 0) {
    size_t at = text.size();
    for (; number < 0; ++number) {
      if (at == 0) return std::nullopt;
      do --at;
      while (at > 0 && (text[at] & 0xc0) == 0x80);
    }
    return at;
  }
  size_t at = 0;
  for (; number > 0; --number) {
    if (at >= text.size()) return std::nullopt;
    at = behind_character(text, at);
  }
  return at;
}

class Substr final : public Kernel {
 public:
  explicit Substr(const KernelInit& init) : bytes_(init.attrs.text("unit") == "BYTE") {}

  Status run(KernelContext& c) override {
    const Shape &in = c.input(0).shape(), &pos = c.input(1).shape(), &len = c.input(2).shape();
    if (!(pos == len)) {
      return invalid_argument(
          cat("pos and len should have the same shape, got: ", pos.to_string(), " vs. ", len.to_string()));
    }
    ASSIGN_OR_RETURN(const Shape shape, broadcast_shapes(in, pos));
    // TensorFlow refuses these, and so does a graph that shall run there, too.
    if (shape.rank() > 2 && !(in == pos) && pos.rank() != 0)
      return unimplemented(cat("Substr broadcast not implemented for ", shape.rank(), " dimensions"));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      const int64_t from = place(in, shape, i), at = place(pos, shape, i);
      ASSIGN_OR_RETURN(c.out<std::string>(0)[i],
                       part(c.in<std::string>(0)[from], int_at(c.input(1), at), int_at(c.input(2), at), i));
    }
    return ok_status();
  }

 private:
  /// Of the element of `from` that serves element `i` of `to`, which it was broadcast to.
  static int64_t place(const Shape& from, const Shape& to, int64_t i) {
    int64_t at = 0, stride = 1;
    for (int d = 1; d <= to.rank(); ++d) {
      const int64_t size = to.dim_from_end(d), coordinate = i % size;
      i /= size;
      if (d > from.rank()) continue;
      if (from.dim_from_end(d) > 1) at += coordinate * stride;
      stride *= from.dim_from_end(d);
    }
    return at;
  }

  Result<std::string> part(const std::string& text, int64_t pos, int64_t len, int64_t i) const {
    const auto size = static_cast<int64_t>(text.size());
    if (bytes_) {
      if (pos < -size || pos > size)
        return invalid_argument(cat("pos ", pos, " out of range for string b'", text, "' at index ", i));
      return text.substr(static_cast<size_t>(pos < 0 ? pos + size : pos), static_cast<size_t>(len));
    }
    const std::optional<size_t> begin = place_of_character(text, pos);
    if (!begin) return invalid_argument(cat("pos ", pos, " out of range for string at index ", i));
    size_t end = *begin;
    for (; len > 0 && end < text.size(); --len) end = behind_character(text, end);
    return text.substr(*begin, end - *begin);
  }

  bool bytes_;
};

}  // namespace

OpDef substr_op() {
  return OpDef("Substr")
      .doc("Of each text so many bytes, or characters of UTF-8, from a position on; negative ones count from the end.")
      .shape(substr_shape)
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, make<Substr>);
}

}  // namespace emplace
