// EmptyTensorMap, TensorMapInsert, TensorMapErase, TensorMapLookup, TensorMapHasKey, TensorMapSize, TensorMapStackKeys:
// maps from tensors to tensors, as variants.
#include <cstring>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/list/elements.h"
#include "core/ops/list/map_entries.h"

namespace emplace {
namespace {

Status hashable(const Tensor& key) {
  if (key.dtype() != DType::kVariant && key.dtype() != DType::kResource) return ok_status();
  return invalid_argument(cat("a key of a map cannot be of type ", dtype_tf_name(key.dtype())));
}

Status no_key(std::string_view what) {
  return invalid_argument(cat("Trying to ", what, ": the map has no such key; TensorMapHasKey tells"));
}

Status empty_cpu(KernelContext& c) {
  c.forward_output(0, list_tensor({DType::kInvalid, Shape::unknown(), -1, {}, Held::kMap}));
  return ok_status();
}

Status insert_cpu(KernelContext& c) {
  RETURN_IF_ERROR(hashable(c.input(1)));
  const Tensor key = c.input(1), value = c.input(2);
  ASSIGN_OR_RETURN(TensorList * map, changed_list(c, 0, 0, Held::kMap));
  RETURN_IF_ERROR(check_list_size(map->size() + 2));
  put_entry(*map, key, value);
  return ok_status();
}

Status erase_cpu(KernelContext& c) {
  const Tensor key = c.input(1);
  ASSIGN_OR_RETURN(TensorList * map, changed_list(c, 0, 0, Held::kMap));
  const MapPlace place = find_entry(*map, key);
  if (!place.found) return no_key("erase non-existent item");
  erase_entry(*map, place.entry);
  return ok_status();
}

Status lookup_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* map, list_in(c.input(0), Held::kMap));
  const MapPlace place = find_entry(*map, c.input(1));
  if (!place.found) return no_key("lookup non-existent key");
  const Tensor& value = map->elements[2 * place.entry + 1];
  if (value.dtype() != c.output(0).dtype())
    return invalid_argument(cat("Value does not match requested dtype: the map holds ", dtype_tf_name(value.dtype()),
                                ", value_dtype is ", dtype_tf_name(c.output(0).dtype())));
  c.forward_output(0, value);
  return ok_status();
}

Status has_key_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* map, list_in(c.input(0), Held::kMap));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{}));
  *c.out<bool>(0) = find_entry(*map, c.input(1)).found;
  return ok_status();
}

Status size_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* map, list_in(c.input(0), Held::kMap));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{}));
  *c.out<int32_t>(0) = static_cast<int32_t>(map->size() / 2);
  return ok_status();
}

Status stack_keys_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* map, list_in(c.input(0), Held::kMap));
  if (map->size() == 0) return invalid_argument("TensorMapStackKeys cannot be called on empty map.");
  const Tensor& first = map->elements[0];
  const DType type = c.output(0).dtype();
  for (int64_t i = 0; i < map->size(); i += 2) {
    const Tensor& key = map->elements[i];
    if (key.dtype() != type)
      return invalid_argument(cat("Key does not match requested dtype: it is of ", dtype_tf_name(key.dtype()),
                                  ", key_dtype is ", dtype_tf_name(type)));
    if (key.shape() != first.shape())
      return invalid_argument(cat("Keys must all have the same shape, found ", first.shape().to_string(), " and ",
                                  key.shape().to_string()));
  }
  Shape shape{map->size() / 2};
  for (int64_t size : first.shape().dims()) shape.add_dim(size);
  RETURN_IF_ERROR(c.allocate_output(0, shape));
  const int64_t n = first.num_elements();
  for (int64_t i = 0; i < map->size() / 2; ++i)
    copy_elements(type, map->elements[2 * i].raw(), element_at(c.output(0), i * n), n);
  return ok_status();
}

}  // namespace

OpDef empty_tensor_map_op() {
  return OpDef("EmptyTensorMap")
      .doc("A map without entries.")
      .shape(list_shape)
      .cpu(stateless<empty_cpu>)
      .provides_outputs();
}
OpDef tensor_map_insert_op() {
  return OpDef("TensorMapInsert")
      .doc("The map with a value for a key, in place of what it had for it.")
      .shape(list_shape)
      .cpu(stateless<insert_cpu>)
      .provides_outputs();
}
OpDef tensor_map_erase_op() {
  return OpDef("TensorMapErase")
      .doc("The map without the entry of a key, which must be there.")
      .shape(list_shape)
      .cpu(stateless<erase_cpu>)
      .provides_outputs();
}
OpDef tensor_map_lookup_op() {
  return OpDef("TensorMapLookup")
      .doc("The value that the map has for a key.")
      .shape(shape_unknown)
      .cpu(stateless<lookup_cpu>)
      .provides_outputs();
}
OpDef tensor_map_has_key_op() {
  return OpDef("TensorMapHasKey")
      .doc("Has the map a value for the key?")
      .shape(shape_scalar)
      .cpu(stateless<has_key_cpu>);
}
OpDef tensor_map_size_op() {
  return OpDef("TensorMapSize").doc("How many entries the map has.").shape(shape_scalar).cpu(stateless<size_cpu>);
}
OpDef tensor_map_stack_keys_op() {
  return OpDef("TensorMapStackKeys")
      .doc("The keys of the map, behind each other along a new first dimension.")
      .shape(shape_unknown)
      .cpu(stateless<stack_keys_cpu>)
      .provides_outputs();
}

}  // namespace emplace
