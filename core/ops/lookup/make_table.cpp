// HashTable, HashTableV2, MutableHashTableV2: make a table, or find the one of that name, and hand out its handle.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/lookup/table.h"

namespace emplace {
namespace {

constexpr DTypeSet kKeys{DType::kString, DType::kInt64, DType::kInt32};

/// The handle of the table as a value that a variable can hold; owns the table.
std::pair<Tensor, Table*> new_table() {
  class Owner final : public Buffer {
   public:
    Owner() : Buffer(nullptr, 0) { data_ = &handle_; }
    Table table;

   private:
    Variable* handle_ = &table;
  };
  auto owner = std::make_shared<Owner>();
  Table* table = &owner->table;
  void* handle = owner->data();
  return {Tensor::wrap(DType::kResource, Shape{}, handle, std::move(owner)), table};
}

/// A variable of the session, of a container that no variable's node can name by chance, keeps the table.
Result<Table*> find_table(const KernelInit& init, bool is_mutable) {
  const std::string& shared = init.attrs.text("shared_name");
  const bool own = shared.empty() && !init.attrs.flag("use_node_name_sharing");
  const std::string name = shared.empty() ? std::string(init.node_name) : shared;
  const std::string container = cat(own ? "\nown table\n" : "\ntable\n", init.attrs.text("container"));
  const DType key = init.attrs.type("key_dtype"), value = init.attrs.type("value_dtype");
  if (value == DType::kVariant) return unimplemented("a table of variants");
  Variable& keeper = init.variables->find_or_create(container, name, DType::kResource, Shape{});
  std::lock_guard lock(keeper.mutex);
  if (!keeper.value.valid()) {
    auto [handle, made] = new_table();
    made->name = name;
    made->key_type = key;
    made->value_type = value;
    made->is_mutable = is_mutable;
    keeper.value = std::move(handle);
  }
  auto* table = static_cast<Table*>(*keeper.value.data<Variable*>());
  if (table->key_type == key && table->value_type == value && table->is_mutable == is_mutable) return table;
  return invalid_argument(cat("Conflicting key/value dtypes ", dtype_tf_name(key), "->", dtype_tf_name(value), " with ",
                              dtype_tf_name(table->key_type), "-", dtype_tf_name(table->value_type), " for table ",
                              name));
}

class MakeTable final : public Kernel {
 public:
  MakeTable(Table* table, DType output) : table_(table), output_(output) {}
  template <bool is_mutable>
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    ASSIGN_OR_RETURN(Table * table, find_table(init, is_mutable));
    return owned_kernel(new MakeTable(table, init.output_types[0]));
  }
  Status run(KernelContext& c) override {
    c.forward_output(0, variable_handle(output_, &table_));
    return ok_status();
  }

 private:
  Variable* table_;
  DType output_;
};

// The first version's handle is a pair of names.
Status reference_shape(ShapeContext& c) {
  c.set_output(0, Shape{2});
  return ok_status();
}

Status mutable_table_shape(ShapeContext& c) {
  c.set_output(0, Shape{});
  c.set_output_handle(0, {c.attrs().type("value_dtype"), Shape{}});
  return ok_status();
}

OpDef table_node(std::string_view name, std::string_view doc, ShapeRule shape, KernelMaker maker) {
  return OpDef(name)
      .doc(doc)
      .shape(shape)
      .kernel_attr("key_dtype")
      .cpu(kKeys, maker)
      .provides_outputs()
      .not_differentiable();
}

}  // namespace

OpDef hash_table_op() {
  return table_node("HashTable", "A reference to a table of keys and values that is filled once.", reference_shape,
                    MakeTable::create<false>);
}
OpDef hash_table_v2_op() {
  return table_node("HashTableV2", "A handle to a table of keys and values that is filled once.", shape_scalar,
                    MakeTable::create<false>);
}
OpDef mutable_hash_table_v2_op() {
  return table_node("MutableHashTableV2", "A handle to a table of keys and values that may change.",
                    mutable_table_shape, MakeTable::create<true>);
}

}  // namespace emplace
