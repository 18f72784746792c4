/// OpTraits: what the stages and training have to know about an op, beyond its signature, to decide something: is it
/// control flow, does it read shapes only, does it hold or change a variable, what does it do to a sum over samples. An
/// op that emplace runs says it in its definition (OpDef::traits); trait_table.cpp has the other ops of TensorFlow.
/// Nobody compares op names.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

/// What dataflow control asks of a run beyond the node's kernel.
enum class Control : uint8_t { kNone, kSwitch, kMerge, kEnter, kExit, kNextIteration, kTrigger };

/// What an output tells as a shape although not all of its elements are known before a run.
enum class PartialValue : uint8_t {
  kNone,
  kShape,  // the shape of the input of the same number
  kRank,   // of the input
  kSize,   // the number of elements of the input
  kInput,  // the same as the input, if that holds integers
  kPack,   // scalars in a row
  kConcatAfterAxis,
  kConcatBeforeAxis,
  kSlice,  // x[begin:end:stride]
};

/// An op that calls functions of the graph's library.
enum class Functional : uint8_t { kNone, kIf, kCase, kWhile, kCall };

/// What an op makes of sums: training on several devices asks whether a loss is a sum or a mean over the samples.
enum class OfSums : uint8_t {
  kNone,
  kKeeps,       // its first input's elements, one by one, maybe under another shape or type
  kNegates,     // these, with the other sign
  kAdds,        // its inputs
  kMultiplies,  // its two inputs
  kDivides,     // its first input by its second
  kSums,        // over axes
  kAverages,    // over axes
  kSumsSquares,
};

/// What the time of a run grows with.
enum class Work : uint8_t { kElements, kMatMul, kConvolution };

struct OpTraits {
  Control control = Control::kNone;
  PartialValue partial_value = PartialValue::kNone;
  Functional functional = Functional::kNone;
  OfSums of_sums = OfSums::kNone;
  Work work = Work::kElements;

  bool constant = false;                  // the value of attr `value`
  bool identity = false;                  // its input, as it is
  bool permutes = false;                  // input 0, with its dimensions in the order that input 1 says
  bool does_nothing = false;              // but for control edges
  bool placeholder = false;               // must be fed
  bool placeholder_with_default = false;  // may be fed
  bool loop_condition = false;
  bool keeps_input = false;   // input 1 comes out of another node, at any later time
  bool gives_kept = false;    // is such another node
  bool collective = false;    // waits for the nodes of the same shared_name
  bool class_labels = false;  // input 1 holds numbers of classes, for each of which input 0 has a column
  bool restores = false;      // reads a checkpoint: input 1 has names, input 2 the slices that are wanted
  bool python_scope = false;  // the Python function that makes it opens a name scope

  bool variable = false;         // holds a tensor over the steps
  bool legacy_variable = false;  // is written with a first value in a graph file only
  bool reads_variable = false;   // gives the value behind its handle
  bool writes_variable = false;  // what its first input, a reference or a handle, stands for
  bool assigns = false;          // input 1 becomes the whole value of that
  bool leaves_state = false;     // stateful by its signature, but changes nothing that is read later
  bool random = false;           // its only state is its own place in a row of random numbers

  bool argument = false;             // of a function's body
  bool result = false;               // of a function's body
  bool body_decides_memory = false;  // its kernel's host memory arguments say nothing

  // TensorFlow's placer (colocation_graph.cc, placer.cc) and the types that ops declare for what lives in host memory.
  bool metadata = false;                 // placed with its input
  bool placed_with_source = false;       // where nothing speaks against it
  bool ignores_resource_inputs = false;  // a reference or resource input does not tie it to its source
  bool dataset = false;                  // named like one; it is one if its only output is a variant
  bool passes_host_memory_on = false;    // its output lives where its input does
  bool declares_host_output = false;
  bool tensor_list = false;
  bool reads_list_form = false;        // its length, or what its elements are
  std::string_view element_attr = {};  // which has the types of what the output, a container, holds
  uint8_t element_inputs = 0;          // bit i: so has input i (forward_type_inference.cc)

  bool reads_shapes_only() const {
    return partial_value == PartialValue::kShape || partial_value == PartialValue::kRank ||
           partial_value == PartialValue::kSize;
  }
};

}  // namespace emplace
