// What both ends of a connection of gRPC agree on, and its buffers.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cluster/transport.h"

namespace emplace {

inline constexpr char kTokenKey[] = "emplace-token";
inline constexpr char kRequestKey[] = "emplace-request-bin";  // a RequestId: three numbers
/// Which run of the listening process: with an answer, who it is; with a request that is sent again, who got the first.
inline constexpr char kPortKey[] = "emplace-port-bin";
/// A stream of requests, each with its id: see frames.h.
inline constexpr char kStreamMethod[] = "/emplace.Transport/Requests";
inline constexpr char kOtherPort[] = "this is another run of the task";

inline std::string bytes_of(const RequestId& id) {
  const uint64_t numbers[] = {id.sender, id.number, id.answered_below};
  return {reinterpret_cast<const char*>(numbers), sizeof numbers};
}

/// An id that is none has a sender of 0.
inline RequestId request_id(std::string_view bytes) {
  uint64_t numbers[3] = {};
  if (bytes.size() == sizeof numbers) std::memcpy(numbers, bytes.data(), sizeof numbers);
  return {numbers[0], numbers[1], numbers[2]};
}

inline std::string bytes_of(uint64_t number) { return {reinterpret_cast<const char*>(&number), sizeof number}; }
inline uint64_t number_of(std::string_view bytes) {
  uint64_t number = 0;
  if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// The slice is one of the owners of the text from now on; nothing is copied.
inline grpc::Slice slice_of(std::shared_ptr<const std::string> text) {
  using Owner = std::shared_ptr<const std::string>;
  auto* owner = new Owner(std::move(text));
  auto* data = const_cast<char*>((*owner)->data());
  return {data, (*owner)->size(), [](void* kept) { delete static_cast<Owner*>(kept); }, owner};
}
inline grpc::ByteBuffer buffer_of(const grpc::Slice& slice) { return {&slice, 1}; }
inline grpc::ByteBuffer buffer_of(std::shared_ptr<const std::string> text) {
  return buffer_of(slice_of(std::move(text)));
}

inline std::string text_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return text;
  text.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

inline int milliseconds(double seconds) { return static_cast<int>(seconds * 1e3); }

}  // namespace emplace
