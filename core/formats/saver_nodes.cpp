#include "core/formats/saver_nodes.h"

#include "core/base/cat.h"
#include "core/formats/message_nodes.h"
#include "core/formats/node_message.h"
#include "core/formats/proto/field_tables.h"
#include "core/op/variable_reader.h"

namespace emplace {
namespace {

using proto::number;
using proto::WireWriter;

Tensor texts(const std::vector<std::string>& values) {
  return Tensor::of<std::string>(Shape({static_cast<int64_t>(values.size())}), values);
}

/// A variable with the nodes that read and set it.
struct SavedVariable {
  const ModelVariable* variable;
  bool handle;
  std::string read;    // a node; of a handle the one that TensorFlow looks for
  std::string assign;  // a node
};

class SaverBuilder {
 public:
  SaverBuilder(std::string_view graph, const ModelContents& contents)
      : graph_(graph),
        contents_(contents),
        tensors_(tensors_of(contents)),
        nodes_(graph, error_),
        scope_(free("save")) {
    for (const ModelVariable& v : contents.variables) add_variable(v);
  }

  Result<GraphWithSaver> build() {
    GraphWithSaver out;
    out.filename = cat(scope_, "/Const:0");
    out.save = cat(scope_, "/control_dependency:0");
    out.restore = cat(scope_, "/restore_all");
    add_filename();
    add_save();
    add_restore();
    for (const SavedVariable& v : saved_) {
      out.variables.push_back(definition(v));
      if (v.variable->trainable) out.trainable.push_back(out.variables.back());
    }
    out.bytes = with_nodes(
        graph_, [](const MessageNode& node) { return std::string(node.bytes); }, more_, error_);
    if (error_.failed()) return invalid_argument(error_.message);
    return out;
  }

 private:
  /// A scope that no node of the graph is in.
  std::string free(const std::string& wanted) const {
    const auto taken = [&](const std::string& scope) {
      for (const MessageNode& node : nodes_.all()) {
        if (node.name == scope || node.name.starts_with(scope + "/")) return true;
      }
      return false;
    };
    std::string scope = wanted;
    for (int i = 1; taken(scope); ++i) scope = cat(wanted, "_", i);
    return scope;
  }

  void add_variable(const ModelVariable& variable) {
    const MessageNode& node = *nodes_.find(variable.node);
    const bool handle = gives_handle(ops_, node.op);
    SavedVariable saved{&variable, handle, cat(variable.node, handle ? "/Read/ReadVariableOp" : "/read"), {}};
    const DType type = variable.value.dtype();
    if (!nodes_.find(saved.read)) {
      NodeMessage read(saved.read, handle ? "ReadVariableOp" : "Identity");
      more_.push_back(read.input(variable.node).type(handle ? "dtype" : "T", type).take());
    }
    saved.assign = cat(scope_, "/", handle ? "AssignVariableOp" : "Assign");
    if (!saved_.empty()) append(saved.assign, "_", saved_.size());
    saved_.push_back(std::move(saved));
  }

  void add_filename() {
    more_.push_back(const_message(cat(scope_, "/filename/input"), Tensor::scalar(std::string("model"))));
    for (const auto& [name, input] : {std::pair("/filename", "/filename/input"), std::pair("/Const", "/filename")}) {
      more_.push_back(NodeMessage(cat(scope_, name), "PlaceholderWithDefault")
                          .input(cat(scope_, input))
                          .type("dtype", DType::kString)
                          .shape("shape", Shape{})
                          .take());
    }
  }

  /// Names and slices of all tensors: inputs 1 and 2 of SaveV2 and RestoreV2.
  void add_names(const std::string& op) {
    std::vector<std::string> names, slices(tensors_.size());
    for (const TensorToSave& t : tensors_) names.push_back(t.key);
    more_.push_back(const_message(cat(op, "/tensor_names"), texts(names)));
    more_.push_back(const_message(cat(op, "/shape_and_slices"), texts(slices)));
  }

  std::vector<DType> types() const {
    std::vector<DType> out;
    for (const TensorToSave& t : tensors_) out.push_back(t.value.dtype());
    return out;
  }

  void add_save() {
    const std::string save = cat(scope_, "/SaveV2"), file = cat(scope_, "/Const");
    add_names(save);
    NodeMessage node(save, "SaveV2");
    node.input(file).input(cat(save, "/tensor_names")).input(cat(save, "/shape_and_slices"));
    for (const SavedVariable& v : saved_) node.input(v.handle ? v.read : v.variable->node);
    for (size_t i = 0; i < contents_.tables.size(); ++i) {
      const std::string all = add_export(i);
      node.input(all).input(cat(all, ":1"));
    }
    more_.push_back(node.types("dtypes", types()).take());
    NodeMessage done(cat(scope_, "/control_dependency"), "Identity");
    more_.push_back(done.input(file).input(cat("^", save)).type("T", DType::kString).take());
  }

  void add_restore() {
    const std::string restore = cat(scope_, "/RestoreV2");
    add_names(restore);
    NodeMessage node(restore, "RestoreV2");
    node.input(cat(scope_, "/Const")).input(cat(restore, "/tensor_names")).input(cat(restore, "/shape_and_slices"));
    more_.push_back(node.types("dtypes", types()).take());
    NodeMessage all(cat(scope_, "/restore_all"), "NoOp");
    for (size_t i = 0; i < saved_.size(); ++i) {
      add_assign(saved_[i], input_text(InputName{restore, static_cast<int64_t>(i)}));
      all.input(cat("^", saved_[i].assign));
    }
    for (size_t i = 0; i < contents_.tables.size(); ++i) all.input(cat("^", add_import(i, restore)));
    more_.push_back(all.take());
  }

  /// The op that does that with a handle, or with the first version's reference.
  std::string table_op(const ModelTable& table, std::string_view what) {
    return cat("LookupTable", what, gives_handle(ops_, nodes_.find(table.node)->op) ? "V2" : "");
  }

  std::string numbered(const std::string& op, size_t i) const {
    return i == 0 ? cat(scope_, "/", op) : cat(scope_, "/", op, "_", i);
  }

  /// A node whose outputs are keys and values.
  std::string add_export(size_t i) {
    const ModelTable& table = contents_.tables[i];
    const std::string op = table_op(table, "Export");
    std::string name = numbered(op, i);
    NodeMessage node(name, op);
    node.input(table.node).type("Tkeys", table.keys.dtype()).type("Tvalues", table.values.dtype());
    more_.push_back(node.take());
    return name;
  }

  std::string add_import(size_t i, const std::string& restore) {
    const ModelTable& table = contents_.tables[i];
    const std::string op = table_op(table, "Import");
    std::string name = numbered(op, i);
    const auto keys = static_cast<int64_t>(saved_.size() + 2 * i);
    NodeMessage node(name, op);
    node.input(table.node).input(input_text(InputName{restore, keys})).input(input_text(InputName{restore, keys + 1}));
    more_.push_back(node.type("Tin", table.keys.dtype()).type("Tout", table.values.dtype()).take());
    return name;
  }

  void add_assign(const SavedVariable& v, const std::string& restored) {
    const DType type = v.variable->value.dtype();
    std::string value = restored;
    if (v.handle) {
      value = cat(v.assign, "/value");
      more_.push_back(NodeMessage(value, "Identity").input(restored).type("T", type).take());
    }
    NodeMessage assign(v.assign, v.handle ? "AssignVariableOp" : "Assign");
    assign.input(v.variable->node).input(value).type(v.handle ? "dtype" : "T", type);
    more_.push_back(assign.take());
  }

  static std::string definition(const SavedVariable& v) {
    using proto::kVariableDefFields;
    std::string out;
    WireWriter writer(out);
    writer.bytes(number(kVariableDefFields, "variable_name"), cat(v.variable->node, ":0"));
    writer.bytes(number(kVariableDefFields, "initializer_name"), v.assign);
    writer.bytes(number(kVariableDefFields, "snapshot_name"), cat(v.read, ":0"));
    if (v.handle) writer.varint(number(kVariableDefFields, "is_resource"), 1);
    writer.bytes(number(kVariableDefFields, "initial_value_name"), cat(v.read, ":0"));
    if (v.variable->trainable) writer.varint(number(kVariableDefFields, "trainable"), 1);
    return out;
  }

  proto::WireError error_;
  std::string_view graph_;
  const ModelContents& contents_;
  const std::vector<TensorToSave> tensors_;
  MessageNodes nodes_;
  OpTable ops_;
  std::string scope_;
  std::vector<SavedVariable> saved_;
  std::vector<std::string> more_;
};

}  // namespace

std::vector<TensorToSave> tensors_of(const ModelContents& contents) {
  std::vector<TensorToSave> out;
  out.reserve(contents.variables.size() + 2 * contents.tables.size());
  for (const ModelVariable& v : contents.variables) out.push_back({v.node, v.value});
  for (const ModelTable& t : contents.tables) {
    out.push_back({cat(t.node, "-keys"), t.keys});
    out.push_back({cat(t.node, "-values"), t.values});
  }
  return out;
}

Result<GraphWithSaver> add_saver(std::string_view graph, const ModelContents& contents) {
  if (contents.empty()) return GraphWithSaver{std::string(graph), {}, {}, {}, {}, {}};
  return SaverBuilder(graph, contents).build();
}

void write_saver(WireWriter& writer, uint32_t field, const GraphWithSaver& graph) {
  using proto::kSaverDefFields;
  const size_t begin = writer.begin(field);
  writer.bytes(number(kSaverDefFields, "filename_tensor_name"), graph.filename);
  writer.bytes(number(kSaverDefFields, "save_tensor_name"), graph.save);
  writer.bytes(number(kSaverDefFields, "restore_op_name"), graph.restore);
  writer.varint(number(kSaverDefFields, "max_to_keep"), 5);
  writer.varint(number(kSaverDefFields, "version"), 2);
  writer.end(begin);
}

}  // namespace emplace
