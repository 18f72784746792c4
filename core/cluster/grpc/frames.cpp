#include "core/cluster/grpc/frames.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/cluster/grpc/wire.h"

namespace emplace {
namespace {

/// Numbers as they are in memory: both ends are of one version, which Hello compares.
template <class T>
void add(std::string& head, T number) {
  head.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void add_text(std::string& head, std::string_view text) {
  add(head, static_cast<uint32_t>(text.size()));
  head.append(text);
}

Frame frame(const std::string& head, const grpc::Slice& body) {
  grpc_slice parts[] = {grpc::Slice(head).c_slice(), body.c_slice()};
  Frame made(grpc_raw_byte_buffer_create(parts, body.size() > 0 ? 2 : 1));
  for (const grpc_slice& part : parts) grpc_slice_unref(part);
  return made;
}

/// Takes the bytes of a message, one part after the other. What is not there is zero, and noted.
class Reader {
 public:
  explicit Reader(grpc_byte_buffer& message) {
    grpc_byte_buffer_reader reader;
    whole_ = grpc_byte_buffer_reader_init(&reader, &message) != 0;
    if (!whole_) return;
    for (grpc_slice part; grpc_byte_buffer_reader_next(&reader, &part) != 0;) {
      slices_.emplace_back(part, grpc::Slice::STEAL_REF);
      left_ += slices_.back().size();
    }
    grpc_byte_buffer_reader_destroy(&reader);
  }
  template <class T>
  T number() {
    T value{};
    take(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  std::string text(size_t bytes) {
    std::string made;
    if (bytes > left_) return whole_ = false, made;
    made.resize(bytes);
    take(made.data(), bytes);
    return made;
  }
  std::string rest() { return text(left_); }
  bool whole() const { return whole_; }

 private:
  void take(char* to, size_t bytes) {
    if (bytes > left_) {
      whole_ = false;
      return;
    }
    left_ -= bytes;
    while (bytes > 0) {
      const grpc::Slice& slice = slices_[slice_];
      const size_t here = std::min(bytes, slice.size() - at_);
      std::memcpy(to, slice.begin() + at_, here);
      to += here, bytes -= here, at_ += here;
      if (at_ == slice.size()) ++slice_, at_ = 0;
    }
  }

  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0, at_ = 0, left_ = 0;
  bool whole_ = false;
};

}  // namespace

Frame request_frame(const RequestId& id, std::string_view method, const grpc::Slice& body) {
  std::string head = bytes_of(id);
  add_text(head, method);
  return frame(head, body);
}

Frame answer_frame(uint64_t number, uint64_t run, Answer answer) {
  std::string head;
  add(head, number);
  add(head, run);
  add(head, static_cast<int32_t>(answer.code));
  add_text(head, answer.message);
  if (!answer.shared) answer.shared = std::make_shared<const std::string>(std::move(answer.body));
  return frame(head, slice_of(std::move(answer.shared)));
}

bool read(grpc_byte_buffer& message, RequestFrame& to) {
  Reader in(message);
  to.id = request_id(in.text(sizeof(uint64_t) * 3));
  to.method = in.text(in.number<uint32_t>());
  to.body = in.rest();
  return in.whole() && to.id.sender != 0;
}

bool read(grpc_byte_buffer& message, AnswerFrame& to) {
  Reader in(message);
  to.number = in.number<uint64_t>(), to.run = in.number<uint64_t>();
  to.answer.code = in.number<int32_t>();
  to.answer.message = in.text(in.number<uint32_t>());
  to.answer.body = in.rest();
  return in.whole();
}

}  // namespace emplace
