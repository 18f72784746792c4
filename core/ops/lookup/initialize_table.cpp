// InitializeTable, InitializeTableFromTextFile and their second versions: what a table is filled with, once.
#include <array>

#include "core/base/cat.h"
#include "core/op/checkpoint_access.h"
#include "core/op/op_def.h"
#include "core/ops/lookup/table_ops.h"
#include "core/ops/lookup/text_columns.h"

namespace emplace {
namespace {

Status initialize_shape(ShapeContext& c) {
  RETURN_IF_ERROR(handle_input(c));
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  return ShapeContext::merge(c.input(1), c.input(2)).take_status();
}

Status initialize_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Table * table, table_behind(c, TableTypes::kKeysAndValues));
  const Shape &keys = c.input(1).shape(), &values = c.input(2).shape();
  if (keys.rank() != 1) return invalid_argument("Keys must be a vector, but received shape" + keys.to_string());
  if (values.rank() != 1) return invalid_argument("Values must be a vector, but received shape" + values.to_string());
  if (keys.dim(0) != values.dim(0)) {
    return invalid_argument(cat("Keys and values must have the same size ", keys.dim(0), " vs ", values.dim(0)));
  }
  std::lock_guard lock(table->mutex);
  return table->fill(c.input(1), c.input(2));
}

Status initialize_from_file_shape(ShapeContext& c) {
  RETURN_IF_ERROR(handle_input(c));
  return c.with_rank(1, 0).take_status();
}

class InitializeFromTextFile final : public Kernel {
 public:
  explicit InitializeFromTextFile(const KernelInit& init)
      : key_(init.attrs.integer("key_index")),
        value_(init.attrs.integer("value_index")),
        lines_(init.attrs.integer("vocab_size")),
        offset_(init.attrs.integer("offset")),
        delimiter_(init.attrs.text("delimiter")),
        access_(init.checkpoints) {}

  Status run(KernelContext& c) override {
    if (delimiter_.size() != 1) return invalid_argument("delimiter should be only 1 char");
    ASSIGN_OR_RETURN(Table * table, step_resource<Table>(c));
    if (c.input(1).num_elements() != 1) {
      return invalid_argument(cat("filename should be a single string, but got ", c.input(1).shape().to_string()));
    }
    const std::string& name = *c.in<std::string>(1);
    if (name.empty()) return invalid_argument("filename cannot be empty.");
    if (!access_) return failed_precondition("no file can be read here");
    ASSIGN_OR_RETURN(const std::string text, access_->read_file(name));
    const std::array columns{TextColumn{key_, table->form.key_type, offset_, "key"},
                             TextColumn{value_, table->form.value_type, offset_, "value"}};
    ASSIGN_OR_RETURN(const std::vector<Tensor> read, read_columns(name, text, columns, delimiter_[0], lines_));
    std::lock_guard lock(table->mutex);
    return table->fill(read[0], read[1]);
  }

 private:
  const int64_t key_, value_, lines_, offset_;
  const std::string delimiter_;
  CheckpointAccess* const access_;
};

OpDef initialize(std::string_view name) {
  return OpDef(name)
      .doc("Fills the table with keys and values.")
      .shape(initialize_shape)
      .cpu(stateless<initialize_cpu>)
      .not_differentiable();
}

OpDef initialize_from_file(std::string_view name) {
  return OpDef(name)
      .doc("Fills the table with columns of a text file, whole lines or their numbers.")
      .shape(initialize_from_file_shape)
      .cpu(make<InitializeFromTextFile>);
}

}  // namespace

OpDef initialize_table_op() { return initialize("InitializeTable"); }
OpDef initialize_table_v2_op() { return initialize("InitializeTableV2"); }
OpDef initialize_table_from_text_file_op() {
  return initialize_from_file("InitializeTableFromTextFile").not_differentiable();
}
OpDef initialize_table_from_text_file_v2_op() {
  return initialize_from_file("InitializeTableFromTextFileV2").not_differentiable();
}

}  // namespace emplace
