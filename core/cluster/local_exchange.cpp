#include "core/cluster/local_exchange.h"

#include <algorithm>
#include <cstring>

#include "core/base/cat.h"
#include "core/op/tensor_list.h"

namespace emplace {

Status AgreedPrograms::check(const std::string& task, size_t number, const std::string& hash) {
  std::lock_guard lock(mutex_);
  if (number == programs_.size()) programs_.push_back({hash, task});
  const Program& known = programs_[number];
  if (known.hash == hash) return ok_status();
  return failed_precondition(cat("program ", hash, " on ", task, ", ", known.hash, " on ", known.task,
                                 ": the tasks have not the same graph, devices or request"));
}

Status LocalExchange::send(const Transfer& transfer, const Piece& piece, const StopSignal& stop) {
  if (piece.iteration > 0) RETURN_IF_ERROR(network_.inbox(transfer.peer).wait_for_room(self_, step_, stop));
  Piece copy{Tensor(), piece.dead, piece.iteration};
  if (piece.value.valid()) {
    ASSIGN_OR_RETURN(copy.value, detached(piece.value));
  }
  network_.send(self_, transfer.peer, step_, transfer.copy, std::move(copy));
  return ok_status();
}

namespace {

Result<Tensor> detached_at(const Tensor& value, int depth) {
  if (depth == kMostNestedLists) return nested_too_deep();
  if (value.dtype() == DType::kVariant) {
    ASSIGN_OR_RETURN(const TensorList* list, held_in(value));
    TensorList copy = list->unset();
    for (int64_t i = list->elements.first(); i < list->elements.last(); ++i) {
      if (!list->elements[i].valid()) continue;
      ASSIGN_OR_RETURN(copy.elements.at(i), detached_at(list->elements[i], depth + 1));
    }
    return list_tensor(std::move(copy), value.shape());
  }
  ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(value.dtype(), value.shape()));
  if (value.dtype() == DType::kString) {
    std::copy(value.flat<std::string>().begin(), value.flat<std::string>().end(), copy.data<std::string>());
  } else if (value.size_bytes() > 0) {
    std::memcpy(copy.raw(), value.raw(), value.size_bytes());
  }
  return copy;
}

}  // namespace

Result<Tensor> detached(const Tensor& value) { return detached_at(value, 0); }

}  // namespace emplace
