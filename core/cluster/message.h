/// What tasks tell each other, as protobuf messages (the numbers are their fields), and how one is read and written. A
/// message is a struct whose fields() hands each member with its number to whoever reads or writes.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/cat.h"
#include "core/base/status.h"
#include "core/formats/proto/wire_reader.h"
#include "core/formats/proto/wire_writer.h"
#include "core/tensor/tensor.h"

namespace emplace::message {

class Writer;
class Reader;

/// Appends a tensor in host memory, whose bytes are copied once; of lists (DT_VARIANT): Unimplemented.
Status write_tensor(const Tensor& value, std::string& out);
/// Its own copy. Sizes are checked against the bytes there are before any memory is taken.
Result<Tensor> read_tensor(std::string_view bytes);

template <class T>
concept Fields = requires(T& message, Reader& reader) {
  message.fields(reader);
};

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <class T>
  void operator()(uint32_t field, const T& value) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
      out_.bytes(field, value);
    } else if constexpr (std::is_same_v<T, double>) {
      out_.fixed64(field, std::bit_cast<uint64_t>(value));
    } else if constexpr (std::is_same_v<T, Tensor>) {
      const size_t begin = out_.begin(field);
      if (const Status status = write_tensor(value, out_.out()); !status.ok() && status_.ok()) status_ = status;
      out_.end(begin);
    } else if constexpr (Fields<T>) {
      const size_t begin = out_.begin(field);
      const_cast<T&>(value).fields(*this);
      out_.end(begin);
    } else {
      out_.varint(field, static_cast<uint64_t>(value));
    }
  }
  template <class T>
  void operator()(uint32_t field, const std::vector<T>& values) {
    for (const T& value : values) (*this)(field, value);
  }

  const Status& status() const { return status_; }

 private:
  proto::WireWriter out_;
  Status status_;
};

/// Reads one field at a time: each call of fields() takes the member that the field is.
class Reader {
 public:
  Reader(std::string_view bytes, proto::WireError& error) : in_(bytes, error), error_(error), size_(bytes.size()) {}
  bool next() { return in_.next(); }

  template <class T>
  void operator()(uint32_t field, T& value) {
    if (in_.field() == field) read(value);
  }
  template <class T>
  void operator()(uint32_t field, std::vector<T>& values) {
    if (in_.field() != field) return;
    if (values.size() * sizeof(T) > kMostGrowth * (size_ + kMostGrowth))
      return error_.set(in_.tag_at(), cat("field ", field, " has more entries than its message is worth"));
    read(values.emplace_back());
  }

 private:
  template <class T>
  void read(T& value) {
    using proto::WireType;
    constexpr WireType kType = std::is_same_v<T, double>               ? WireType::kFixed64
                               : std::integral<T> || std::is_enum_v<T> ? WireType::kVarint
                                                                       : WireType::kBytes;
    if (in_.type() != kType) return error_.set(in_.tag_at(), cat("field ", in_.field(), " is of another kind"));
    if constexpr (std::is_same_v<T, std::string>) {
      value.assign(in_.bytes());
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      value = in_.bytes();  // of the bytes that are read
    } else if constexpr (std::is_same_v<T, double>) {
      value = std::bit_cast<double>(in_.number());
    } else if constexpr (std::is_same_v<T, Tensor>) {
      Result<Tensor> read = read_tensor(in_.bytes());
      if (!read.ok()) return error_.set(in_.tag_at(), read.status().message());
      value = read.take();
    } else if constexpr (Fields<T>) {
      for (Reader inner(in_.bytes(), error_); inner.next();) value.fields(inner);
    } else {
      value = static_cast<T>(in_.number());
    }
  }

  static constexpr size_t kMostGrowth = 32;  // memory for a byte of a message; an empty text takes two

  proto::WireReader in_;
  proto::WireError& error_;
  const size_t size_;
};

/// Unimplemented: a tensor that has no form between processes.
template <Fields T>
Result<std::string> write(const T& message) {
  std::string bytes;
  Writer writer(bytes);
  const_cast<T&>(message).fields(writer);
  RETURN_IF_ERROR(writer.status());
  return bytes;
}

/// InvalidArgument: no such message; nothing of it is used.
template <Fields T>
Result<T> read(std::string_view bytes) {
  proto::WireError error;
  T message;
  for (Reader reader(bytes, error); reader.next();) message.fields(reader);
  if (error.failed()) return invalid_argument(cat("a request that cannot be read: ", error.message));
  return message;
}

}  // namespace emplace::message
