/// Kernel: the code of one node, and KernelContext, what it sees while it runs.
///
/// Life of a kernel: made once per node (attrs resolved), prepare()d whenever its input shapes become known or
/// change, run() once per step. Output shapes come from the op's shape rule (core/op/shape_context.h), never from
/// the kernel, unless the rule leaves them open (Where, Unique): then run() allocates.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/op/attr_value.h"
#include "core/op/tile.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// State behind a VariableV2 or a VarHandleOp; lives in its device's memory and persists over steps.
/// The mutex orders assignments and reads of different workers. Who reads shares `value`'s buffer; who writes does so
/// in place only while nobody else holds that buffer, else into a new one, so a value once read never changes.
struct Variable {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape declared_shape;
  std::mutex mutex;
  Tensor value;  // invalid until first assigned
};

/// What a VariableV2 or VarHandleOp hands on: a scalar of type `dtype` (reference or resource) whose element is the
/// Variable*. An input argument that is no reference (Identity of a VariableV2) gets read_reference() of it instead.
Tensor variable_handle(DType dtype, Variable** variable);
/// The value now, sharing its buffer. FailedPrecondition "Attempting to use uninitialized value NAME".
Result<Tensor> read_reference(Variable& variable);

/// Memory of the device that a node runs on. Thread-safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// ResourceExhausted when the device's limit does not allow it.
  virtual Result<Tensor> allocate(DType dtype, const Shape& shape) = 0;
  /// The same for what outlives the step: the values of variables and constants.
  virtual Result<Tensor> allocate_persistent(DType dtype, const Shape& shape);
};

/// Finds or makes the variables of one device. Thread-safe.
class VariableStore {
 public:
  virtual ~VariableStore() = default;
  virtual Variable& find_or_create(const std::string& container, const std::string& name, DType dtype,
                                   const Shape& shape) = 0;
};

class CheckpointAccess;  // core/op/checkpoint_access.h

/// What a node is, for the maker of its kernel. Valid only during the call; what `attrs` shows outlives the kernel.
struct KernelInit {
  std::string_view node_name;
  std::string_view op;
  Attrs attrs;
  std::span<const DType> input_types;
  std::span<const DType> output_types;
  VariableStore* variables = nullptr;
  uint64_t random_seed = 0;                        // for ops whose seed attrs are both 0
  std::atomic<uint64_t>* random_blocks = nullptr;  // what the node has drawn so far, kept by the session; may be null
  CheckpointAccess* checkpoints = nullptr;         // null: there are none to read and write
  void* gpu = nullptr;                             // of a GPU's kernel: its device, as the plug-in knows it
  Result<std::unique_ptr<class Kernel>> (*cpu_maker)(const KernelInit&) = nullptr;  // of a GPU's kernel: the CPU's
};

class KernelContext {
 public:
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const Tensor& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  /// Shape and dtype are set before prepare(); storage before run(), unless the shape rule left the shape open.
  Tensor& output(int i) { return outputs_[static_cast<size_t>(i)]; }
  template <class T>
  const T* in(int i) const {
    return input(i).data<T>();
  }
  template <class T>
  T* out(int i) {
    return output(i).data<T>();
  }

  /// The variable behind a reference or resource input. FailedPrecondition-free: the handle always exists.
  Variable& variable(int i) const { return **input(i).data<Variable*>(); }

  /// Gives output `i` storage (and its shape, where the shape rule could not).
  Status allocate_output(int i, const Shape& shape);
  /// Output `i` is `value` itself: no copy. For outputs that share an input's or a variable's buffer.
  void forward_output(int i, Tensor value);
  /// Output `i` has no value in this step (Switch): whoever reads it is not run. The output is left invalid, and so
  /// is the input of a Merge that nobody wrote.
  void mark_dead(int i);
  /// Scratch in the device's memory, gone after run().
  Result<Tensor> allocate_scratch(DType dtype, const Shape& shape);
  Result<Tensor> allocate_persistent(DType dtype, const Shape& shape);

  /// Calls body(begin, end) for pieces of [0, n), beside each other when workers are idle. `cost_ns`: of one item.
  /// The pieces never depend on the number of threads, so sums that follow them are reproducible.
  template <class F>
  void parallel_for(int64_t n, double cost_ns, const F& body) {
    parallel_->run(n, cost_ns, body);
  }

  /// Does input `i` hold the same value in every step? Then what is derived from it may be kept.
  bool input_is_constant(int i) const { return i < 64 && ((constant_inputs_ >> i) & 1) != 0; }

  std::string_view node_name() const { return node_name_; }
  int64_t step() const { return step_; }

  // Set by the executor.
  std::span<Tensor> inputs_;
  std::span<Tensor> outputs_;
  Allocator* allocator_ = nullptr;
  Allocator* host_allocator_ = nullptr;  // for the outputs that a GPU's kernel leaves in host memory
  uint64_t host_outputs_ = 0;            // a bit each; output 63 speaks for those behind it
  Parallel* parallel_ = nullptr;
  std::string_view node_name_;
  int64_t step_ = 0;
  uint64_t constant_inputs_ = 0;  // bit i: input i
  RowSink* row_sink_ = nullptr;   // only for kernels that hand on rows
  void* stream_ = nullptr;        // of a GPU: where run() enqueues its work; the plug-in knows the type
};

/// What a kernel takes from its allocator beside the outputs, in bytes.
struct Workspace {
  int64_t scratch = 0;  // for the time of a run
  int64_t kept = 0;     // from the first run on
};

class Kernel {
 public:
  virtual ~Kernel();
  /// Input and output shapes are known and stay so until the next prepare(); the values of the op's `value_inputs`
  /// are there too. Chooses code, sizes scratch. Not every kernel needs it.
  virtual Status prepare(KernelContext&) { return ok_status(); }
  /// Computes the outputs. Called from any worker, never from two at once for one node.
  virtual Status run(KernelContext& c) = 0;

  /// After prepare(): counted in the plan, so that the peak is known before the first step. Kernels that take less than
  /// a few KiB, or whose need hangs on values, say nothing.
  virtual Workspace workspace() const { return {}; }

  /// After prepare(): the op as a function of runs of elements, if it is elementwise for these shapes (every input has
  /// the output's shape, or one element, or Tile::period of them). The executor may then call this in place of run().
  virtual Tile tile() const { return {}; }
  /// After prepare(): the op as a reduction of all elements of input 0, if it is one.
  virtual BlockReduction block_reduction() const { return {}; }
  /// After prepare(): will run() tell c.row_sink_, if there is one, of every row of output 0? Then what follows
  /// elementwise is done to the rows at once.
  virtual bool hands_on_rows() const { return false; }
};

using KernelMaker = Result<std::unique_ptr<Kernel>> (*)(const KernelInit&);

/// Nothing about either is a template, so that the hundreds of kernels that are made so cost little to compile.
Result<std::unique_ptr<Kernel>> owned_kernel(Kernel* made);
Result<std::unique_ptr<Kernel>> kernel_of_function(Status (*run)(KernelContext&));

/// A kernel without state of its own: F is Status(KernelContext&).
template <auto F>
Result<std::unique_ptr<Kernel>> stateless(const KernelInit&) {
  return kernel_of_function(F);
}

/// A kernel class K with a constructor K(const KernelInit&).
template <class K>
Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
  return owned_kernel(new K(init));
}

}  // namespace emplace
