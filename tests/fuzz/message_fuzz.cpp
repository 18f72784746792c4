// Messages between the tasks of a cluster, of any bytes: no crash, no more memory than a message is worth, and what was
// read is written and read again. The first byte says which message it is.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/cluster/message.h"
#include "core/cluster/protocol.h"

using namespace emplace;
using namespace emplace::message;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
void check(std::string_view bytes) {
  const Result<T> read = message::read<T>(bytes);
  if (!read.ok()) return;
  const Result<std::string> written = message::write(*read);
  if (!written.ok()) return;  // a tensor of lists
  const Result<T> again = message::read<T>(*written);
  require(again.ok());
  require(*message::write(*again) == *written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      check<SessionRequest>(bytes);
      break;
    case 1:
      check<SessionReply>(bytes);
      break;
    case 2:
      check<PushMessage>(bytes);
      break;
    case 3:
      check<TaskList>(bytes);
      break;
    case 4:
      check<StepCall>(bytes);
      break;
    case 5:
      check<VariableCall>(bytes);
      break;
    case 6:
      check<ListRequest>(bytes);
      break;
    default:
      check<SessionId>(bytes);
  }
  return 0;
}
