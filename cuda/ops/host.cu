// Ops that look at no element in device memory: the CPU's kernels serve. And Const, whose value has to get there.
#include "cuda/error.h"
#include "cuda/kernel_table.h"

namespace emplace::cuda {
namespace {

/// The tensor of its attr, copied to the device once.
class Const final : public Kernel {
 public:
  explicit Const(const KernelInit& init) : value_(init.attrs.tensor("value")) {}
  Status run(KernelContext& c) override {
    if (!placed_.valid()) {
      ASSIGN_OR_RETURN(Tensor placed, c.allocate_persistent(value_.dtype(), value_.shape()));
      if (value_.size_bytes() > 0) {
        CUDA_TRY(
            cudaMemcpyAsync(placed.raw(), value_.raw(), value_.size_bytes(), cudaMemcpyHostToDevice, stream_of(c)));
      }
      placed_ = std::move(placed);
    }
    c.forward_output(0, placed_);
    return ok_status();
  }

 private:
  Tensor value_, placed_;
};

constexpr const char* kHandsOn[] = {"DeepCopy",
                                    "DestroyTemporaryVariable",
                                    "EnsureShape",
                                    "Enter",
                                    "Exit",
                                    "ExpandDims",
                                    "Identity",
                                    "IdentityN",
                                    "LoopCond",
                                    "Merge",
                                    "NextIteration",
                                    "Placeholder",
                                    "PlaceholderWithDefault",
                                    "PreventGradient",
                                    "ReadVariableOp",
                                    "RefEnter",
                                    "RefExit",
                                    "RefMerge",
                                    "RefNextIteration",
                                    "RefSwitch",
                                    "Reshape",
                                    "Snapshot",
                                    "Squeeze",
                                    "StackPopV2",
                                    "StackPushV2",
                                    "StackV2",
                                    "StopGradient",
                                    "Switch",
                                    "TemporaryVariable",
                                    "VarHandleOp",
                                    "Variable",
                                    "VariableV2",
                                    "_SwitchN"};
// Lists, arrays and optional values of tensors: what changes only which elements there are.
constexpr const char* kHandsElementsOn[] = {
    "EmptyTensorList",    "OptionalFromValue",     "OptionalGetValue",       "OptionalHasValue",
    "OptionalNone",       "TensorArrayCloseV3",    "TensorArrayGradV3",      "TensorArrayGradWithShape",
    "TensorArraySizeV3",  "TensorListConcatLists", "TensorListElementShape", "TensorListLength",
    "TensorListPushBack", "TensorListReserve",     "TensorListResize",       "TensorListSetItem"};
constexpr const char* kReadsHostMemory[] = {"Assert",
                                            "BroadcastArgs",
                                            "BroadcastGradientArgs",
                                            "ConcatOffset",
                                            "ControlTrigger",
                                            "DestroyResourceOp",
                                            "DisableCopyOnRead",
                                            "InvertPermutation",
                                            "IsVariableInitialized",
                                            "LinSpace",
                                            "NoOp",
                                            "ParallelDynamicStitch",
                                            "RaggedTensorFromVariant",
                                            "Rank",
                                            "Shape",
                                            "ShapeN",
                                            "Size",
                                            "StackCloseV2",
                                            "StatelessRandomGetAlg",
                                            "StatelessRandomGetKeyCounter",
                                            "StatelessRandomGetKeyCounterAlg",
                                            "VarIsInitializedOp",
                                            "VariableShape"};

}  // namespace

void add_host(KernelTable& table) {
  for (auto op : kHandsOn) table.add_host_code(op, kAnyType);
  for (auto op : kHandsElementsOn) table.add_host_code(op, kAnyType);
  for (auto op : kReadsHostMemory) table.add_host_code(op, kAnyType);
  constexpr DTypeSet kHost{DType::kInt32};
  table.add_host_code("Const", kHost);
  table.add("Const", kAnyType, make<Const>);
  table.add_host_code("DeserializeSparse", DTypeSet{DType::kVariant});
}

}  // namespace emplace::cuda
