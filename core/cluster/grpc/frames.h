// What stands in a message of a stream that carries requests, or their answers: a head of numbers and names, then the
// body as it is.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/cluster/grpc/message_turn.h"
#include "core/cluster/transport.h"

namespace emplace {

struct RequestFrame {
  RequestId id;
  std::string method, body;
};

struct AnswerFrame {
  uint64_t number = 0;  // of the request
  uint64_t run = 0;     // of the process that answers
  Answer answer;        // `body` holds the bytes
};

/// Bodies are not copied.
Frame request_frame(const RequestId& id, std::string_view method, const grpc::Slice& body);
Frame answer_frame(uint64_t number, uint64_t run, Answer answer);

/// False: it is none.
bool read(grpc_byte_buffer& message, RequestFrame& to);
bool read(grpc_byte_buffer& message, AnswerFrame& to);

}  // namespace emplace
