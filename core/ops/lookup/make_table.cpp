// HashTable, HashTableV2, MutableHashTableV2: make a table, or find the one of that name, and hand out its handle.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/op/session_table.h"
#include "core/ops/lookup/table_ops.h"

namespace emplace {
namespace {

constexpr DTypeSet kKeys{DType::kString, DType::kInt64, DType::kInt32};

/// The handle of the table as a value that a variable can hold; owns the table.
class KeptTable final : public Buffer, public SessionTable {
 public:
  KeptTable() : Buffer(nullptr, 0) { data_ = &handle_; }

  Result<std::optional<TableContents>> contents() override {
    std::lock_guard lock(table.mutex);
    if (!table.is_mutable) return std::optional<TableContents>();
    TableContents out;
    ASSIGN_OR_RETURN(out.keys, Tensor::allocate(table.key_type, Shape{table.size()}));
    ASSIGN_OR_RETURN(out.values, Tensor::allocate(table.value_type, Shape{table.size()}));
    table.copy_to(out.keys, out.values);
    return std::optional(std::move(out));
  }

  Status set_contents(const TableContents& contents) override {
    std::lock_guard lock(table.mutex);
    const auto& [keys, values] = contents;
    if (!table.is_mutable) return invalid_argument(cat("table '", table.name, "' is filled once, by the graph"));
    if (keys.dtype() != table.key_type || values.dtype() != table.value_type) {
      return invalid_argument(cat("table '", table.name, "' holds ", dtype_name(table.key_type), " and ",
                                  dtype_name(table.value_type), ", not ", dtype_name(keys.dtype()), " and ",
                                  dtype_name(values.dtype())));
    }
    RETURN_IF_ERROR(check_value_shape(keys.shape(), values.shape()).with_context(cat("table '", table.name, "'")));
    table.clear();
    table.insert(keys, values);
    return ok_status();
  }

  Table table;

 private:
  Variable* handle_ = &table;
};

Result<Table*> find_table(const KernelInit& init, bool is_mutable) {
  const DType key = init.attrs.type("key_dtype"), value = init.attrs.type("value_dtype");
  if (value == DType::kVariant) return unimplemented("a table of variants");
  Variable& keeper = table_keeper(*init.variables, init.attrs, init.node_name);
  std::lock_guard lock(keeper.mutex);
  if (!keeper.value.valid()) {
    auto made = std::make_shared<KeptTable>();
    made->table.name = keeper.name;
    made->table.key_type = key;
    made->table.value_type = value;
    made->table.is_mutable = is_mutable;
    void* handle = made->data();
    keeper.value = Tensor::wrap(DType::kResource, Shape{}, handle, std::move(made));
  }
  auto* table = static_cast<Table*>(*keeper.value.data<Variable*>());
  if (table->key_type == key && table->value_type == value && table->is_mutable == is_mutable) return table;
  return invalid_argument(cat("Conflicting key/value dtypes ", dtype_tf_name(key), "->", dtype_tf_name(value), " with ",
                              dtype_tf_name(table->key_type), "-", dtype_tf_name(table->value_type), " for table ",
                              keeper.name));
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
