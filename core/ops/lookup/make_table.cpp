// HashTable, MutableHashTable, MutableHashTableOfTensors, MutableDenseHashTable, their second versions and those
// without a name: make a table, or find the one of that name, and hand out its handle.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/op/session_table.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/lookup/dense_table.h"
#include "core/ops/lookup/hashed_table.h"
#include "core/ops/lookup/table_ops.h"

namespace emplace {
namespace {

constexpr DTypeSet kKeys{DType::kString, DType::kInt64, DType::kInt32};

enum class Kind : uint8_t { kOnce, kMutable, kOfTensors, kDense };

/// The handle of the table as a value that a variable can hold; owns the table.
class KeptTable final : public Buffer, public SessionTable {
 public:
  explicit KeptTable(std::unique_ptr<Table> table)
      : Buffer(nullptr, 0), table_(std::move(table)), handle_(table_.get()) {
    data_ = &handle_;
    size_ = sizeof handle_;
  }

  Result<std::optional<TableContents>> contents() override {
    std::lock_guard lock(table_->mutex);
    const TableForm& form = table_->form;
    if (!form.is_mutable) return std::optional<TableContents>();
    const auto [keys, values] = table_->export_shapes();
    TableContents out;
    ASSIGN_OR_RETURN(out.keys, Tensor::allocate(form.key_type, keys));
    ASSIGN_OR_RETURN(out.values, Tensor::allocate(form.value_type, values));
    table_->copy_to(out.keys, out.values);
    return std::optional(std::move(out));
  }

  Status set_contents(const TableContents& contents) override {
    const TableForm& form = table_->form;
    const auto& [keys, values] = contents;
    if (!form.is_mutable) return invalid_argument(cat("table '", table_->name, "' is filled once, by the graph"));
    if (keys.dtype() != form.key_type || values.dtype() != form.value_type) {
      return invalid_argument(cat("table '", table_->name, "' holds ", dtype_name(form.key_type), " and ",
                                  dtype_name(form.value_type), ", not ", dtype_name(keys.dtype()), " and ",
                                  dtype_name(values.dtype())));
    }
    std::lock_guard lock(table_->mutex);
    RETURN_IF_ERROR(table_->check_import(keys.shape(), values.shape()).with_context(cat("table '", table_->name, "'")));
    return table_->import(keys, values);
  }

  Table* table() const { return table_.get(); }

 private:
  const std::unique_ptr<Table> table_;
  Variable* handle_;
};

Tensor handle_of(std::unique_ptr<Table> table) {
  auto owner = std::make_shared<KeptTable>(std::move(table));
  void* handle = owner->data();
  return Tensor::wrap(DType::kResource, Shape{}, handle, std::move(owner));
}

/// What a node says of its table.
template <Kind kind>
class TableMaker {
 public:
  explicit TableMaker(const KernelInit& init) {
    form_.key_type = init.attrs.type("key_dtype");
    form_.value_type = init.attrs.type("value_dtype");
    form_.is_mutable = kind != Kind::kOnce;
    if constexpr (kind == Kind::kOfTensors || kind == Kind::kDense) form_.value_shape = init.attrs.shape("value_shape");
    if constexpr (kind == Kind::kDense) {
      buckets_ = init.attrs.integer("initial_num_buckets");
      most_load_ = init.attrs.number("max_load_factor");
    }
  }
  const TableForm& form() const { return form_; }

  Result<std::unique_ptr<Table>> make(const KernelContext& c) const {
    if (!form_.value_shape.fully_known())
      return invalid_argument(cat("Shape ", form_.value_shape.to_string(), " is not fully defined"));
    if constexpr (kind == Kind::kDense) {
      return DenseTable::make(form_, c.input(0), c.input(1), buckets_, most_load_);
    } else {
      if (kind == Kind::kOfTensors && form_.value_shape.rank() != 1)
        return invalid_argument(cat("Default value must be a vector, got shape ", form_.value_shape.to_string()));
      return std::unique_ptr<Table>(std::make_unique<HashedTable>(form_));
    }
  }

 private:
  TableForm form_;
  int64_t buckets_ = 0;
  float most_load_ = 0;
};

/// A variable of the session keeps the table.
template <Kind kind>
class NamedTable final : public Kernel {
 public:
  explicit NamedTable(const KernelInit& init)
      : maker_(init),
        keeper_(table_keeper(*init.variables, init.attrs, init.node_name)),
        output_(init.output_types[0]) {}

  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    if (init.attrs.type("value_dtype") == DType::kVariant) return unimplemented("a table of variants");
    return owned_kernel(new NamedTable(init));
  }

  Status run(KernelContext& c) override {
    if (!table_) {
      ASSIGN_OR_RETURN(table_, find_or_make(c));
    }
    c.forward_output(0, variable_handle(output_, &table_));
    return ok_status();
  }

 private:
  Result<Variable*> find_or_make(const KernelContext& c) {
    std::lock_guard lock(keeper_.mutex);
    if (!keeper_.value.valid()) {
      ASSIGN_OR_RETURN(std::unique_ptr<Table> made, maker_.make(c));
      made->name = keeper_.name;
      keeper_.value = handle_of(std::move(made));
    }
    auto* table = static_cast<Table*>(*keeper_.value.data<Variable*>());
    const TableForm &wanted = maker_.form(), &found = table->form;
    if (found.key_type == wanted.key_type && found.value_type == wanted.value_type) return table;
    return invalid_argument(cat("Conflicting key/value dtypes ", dtype_tf_name(wanted.key_type), "->",
                                dtype_tf_name(wanted.value_type), " with ", dtype_tf_name(found.key_type), "-",
                                dtype_tf_name(found.value_type), " for table ", keeper_.name));
  }

  const TableMaker<kind> maker_;
  Variable& keeper_;
  Variable* table_ = nullptr;
  DType output_;
};

/// A table of its own in each step.
template <Kind kind>
class AnonymousTable final : public Kernel {
 public:
  explicit AnonymousTable(const KernelInit& init) : maker_(init) {}

  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    if (init.attrs.type("value_dtype") == DType::kVariant) return unimplemented("a table of variants");
    return owned_kernel(new AnonymousTable(init));
  }

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(std::unique_ptr<Table> made, maker_.make(c));
    made->name = c.node_name();
    c.forward_output(0, handle_of(std::move(made)));
    return ok_status();
  }

 private:
  const TableMaker<kind> maker_;
};

// The first version's handle is a pair of names.
Status reference_shape(ShapeContext& c) {
  c.set_output(0, Shape{2});
  return ok_status();
}

/// LookupTableFindV2 learns what it gives from the handle, where keys are single elements.
template <Kind kind>
Status mutable_table_shape(ShapeContext& c) {
  c.set_output(0, Shape{});
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(require_rank_at_most(c.input(i), 1).take_status());
  const bool has_shape = kind == Kind::kOfTensors || kind == Kind::kDense;
  if (kind == Kind::kDense && !(c.input(0).rank_known() && c.input(0).rank() == 0)) return ok_status();
  c.set_output_handle(0, {c.attrs().type("value_dtype"), has_shape ? c.attrs().shape("value_shape") : Shape{}});
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

constexpr std::string_view kOnceDoc = "A table of keys and values that is filled once";
constexpr std::string_view kMutableDoc = "A table of keys and values that may change";
constexpr std::string_view kOfTensorsDoc = "A table of keys and vectors that may change";
constexpr std::string_view kDenseDoc = "A table of keys and values that may change, in one array of buckets";

}  // namespace

OpDef hash_table_op() { return table_node("HashTable", kOnceDoc, reference_shape, NamedTable<Kind::kOnce>::create); }
OpDef hash_table_v2_op() { return table_node("HashTableV2", kOnceDoc, shape_scalar, NamedTable<Kind::kOnce>::create); }
OpDef anonymous_hash_table_op() {
  return table_node("AnonymousHashTable", kOnceDoc, shape_scalar, AnonymousTable<Kind::kOnce>::create);
}
OpDef mutable_hash_table_op() {
  return table_node("MutableHashTable", kMutableDoc, reference_shape, NamedTable<Kind::kMutable>::create);
}
OpDef mutable_hash_table_v2_op() {
  return table_node("MutableHashTableV2", kMutableDoc, mutable_table_shape<Kind::kMutable>,
                    NamedTable<Kind::kMutable>::create);
}
OpDef anonymous_mutable_hash_table_op() {
  return table_node("AnonymousMutableHashTable", kMutableDoc, mutable_table_shape<Kind::kMutable>,
                    AnonymousTable<Kind::kMutable>::create);
}
OpDef mutable_hash_table_of_tensors_op() {
  return table_node("MutableHashTableOfTensors", kOfTensorsDoc, reference_shape, NamedTable<Kind::kOfTensors>::create);
}
OpDef mutable_hash_table_of_tensors_v2_op() {
  return table_node("MutableHashTableOfTensorsV2", kOfTensorsDoc, mutable_table_shape<Kind::kOfTensors>,
                    NamedTable<Kind::kOfTensors>::create);
}
OpDef anonymous_mutable_hash_table_of_tensors_op() {
  return table_node("AnonymousMutableHashTableOfTensors", kOfTensorsDoc, mutable_table_shape<Kind::kOfTensors>,
                    AnonymousTable<Kind::kOfTensors>::create);
}
OpDef mutable_dense_hash_table_v2_op() {
  return table_node("MutableDenseHashTableV2", kDenseDoc, mutable_table_shape<Kind::kDense>,
                    NamedTable<Kind::kDense>::create);
}
OpDef anonymous_mutable_dense_hash_table_op() {
  return table_node("AnonymousMutableDenseHashTable", kDenseDoc, mutable_table_shape<Kind::kDense>,
                    AnonymousTable<Kind::kDense>::create);
}

}  // namespace emplace
