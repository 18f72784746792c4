#include "core/ops/text/example_message.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>

namespace emplace {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

std::string_view view_of(const protozero::data_view& bytes) { return {bytes.data(), bytes.size()}; }

ExampleFeature read_feature(std::string_view message) {
  constexpr DType kKinds[] = {DType::kInvalid, DType::kString, DType::kFloat, DType::kInt64};  // by field
  ExampleFeature feature;
  for (pbf_reader r(message.data(), message.size()); r.next();) {
    if (r.tag() >= 1 && r.tag() <= 3 && r.wire_type() == pbf_wire_type::length_delimited) {
      feature.type = kKinds[r.tag()];
      feature.list = view_of(r.get_view());
    } else {
      r.skip();
    }
  }
  return feature;
}

/// A map's entries: named[key] = value(bytes).
template <class Named, class F>
void read_named(std::string_view message, Named& named, const F& value) {
  for (pbf_reader r(message.data(), message.size()); r.next();) {
    if (r.tag() != 1 || r.wire_type() != pbf_wire_type::length_delimited) {
      r.skip();
      continue;
    }
    std::string_view key;
    typename Named::mapped_type found{};
    for (pbf_reader entry = r.get_message(); entry.next();) {
      const bool bytes = entry.wire_type() == pbf_wire_type::length_delimited;
      if (bytes && entry.tag() == 1) {
        key = view_of(entry.get_view());
      } else if (bytes && entry.tag() == 2) {
        found = value(view_of(entry.get_view()));
      } else {
        entry.skip();
      }
    }
    named[key] = std::move(found);
  }
}

void read_features(std::string_view message, ExampleFeatures& features) { read_named(message, features, read_feature); }

std::vector<ExampleFeature> read_feature_list(std::string_view message) {
  std::vector<ExampleFeature> list;
  for (pbf_reader r(message.data(), message.size()); r.next();) {
    if (r.tag() == 1 && r.wire_type() == pbf_wire_type::length_delimited) {
      list.push_back(read_feature(view_of(r.get_view())));
    } else {
      r.skip();
    }
  }
  return list;
}

// Packed or not: both are one list. A value in another form ends the reading, as TensorFlow's.
template <class T, class Packed, class One>
void read_numbers(std::string_view list, pbf_wire_type form, std::vector<T>& out, const Packed& packed,
                  const One& one) {
  for (pbf_reader r(list.data(), list.size()); r.next();) {
    if (r.tag() != 1) {
      r.skip();
    } else if (r.wire_type() == pbf_wire_type::length_delimited) {
      const auto values = packed(r);
      out.insert(out.end(), values.begin(), values.end());
    } else if (r.wire_type() == form) {
      out.push_back(one(r));
    } else {
      throw protozero::unknown_pbf_wire_type_exception();
    }
  }
}

void read_texts(std::string_view list, std::vector<std::string>& out) {
  for (pbf_reader r(list.data(), list.size()); r.next();) {
    if (r.tag() != 1) {
      r.skip();
    } else if (r.wire_type() == pbf_wire_type::length_delimited) {
      out.emplace_back(view_of(r.get_view()));
    } else {
      throw protozero::unknown_pbf_wire_type_exception();
    }
  }
}

}  // namespace

bool read_example(std::string_view message, ExampleFeatures& features) {
  try {
    for (pbf_reader r(message.data(), message.size()); r.next();) {
      if (r.tag() == 1 && r.wire_type() == pbf_wire_type::length_delimited) {
        read_features(view_of(r.get_view()), features);
      } else {
        r.skip();
      }
    }
  } catch (const protozero::exception&) {
    return false;
  }
  return true;
}

bool read_sequence_example(std::string_view message, ExampleFeatures& context, ExampleFeatureLists& lists) {
  try {
    for (pbf_reader r(message.data(), message.size()); r.next();) {
      if (r.tag() == 1 && r.wire_type() == pbf_wire_type::length_delimited) {
        read_features(view_of(r.get_view()), context);
      } else if (r.tag() == 2 && r.wire_type() == pbf_wire_type::length_delimited) {
        read_named(view_of(r.get_view()), lists, read_feature_list);
      } else {
        r.skip();
      }
    }
  } catch (const protozero::exception&) {
    return false;
  }
  return true;
}

int64_t ExampleValues::size() const { return static_cast<int64_t>(floats_.size() + ints_.size() + texts_.size()); }

bool ExampleValues::append(std::string_view list) {
  try {
    if (type_ == DType::kFloat) {
      read_numbers(
          list, pbf_wire_type::fixed32, floats_, [](pbf_reader& r) { return r.get_packed_float(); },
          [](pbf_reader& r) { return r.get_float(); });
    } else if (type_ == DType::kInt64) {
      read_numbers(
          list, pbf_wire_type::varint, ints_, [](pbf_reader& r) { return r.get_packed_int64(); },
          [](pbf_reader& r) { return r.get_int64(); });
    } else {
      read_texts(list, texts_);
    }
  } catch (const protozero::exception&) {
    return false;
  }
  return true;
}

void ExampleValues::append(const Tensor& t, int64_t times) {
  const auto add = [&]<class T>(std::vector<T>& to) {
    for (int64_t i = 0; i < times; ++i) to.insert(to.end(), t.data<T>(), t.data<T>() + t.num_elements());
  };
  if (type_ == DType::kFloat) {
    add(floats_);
  } else if (type_ == DType::kInt64) {
    add(ints_);
  } else {
    add(texts_);
  }
}

void ExampleValues::copy_to(Tensor& t) const {
  if (type_ == DType::kFloat) {
    std::copy(floats_.begin(), floats_.end(), t.data<float>());
  } else if (type_ == DType::kInt64) {
    std::copy(ints_.begin(), ints_.end(), t.data<int64_t>());
  } else {
    std::copy(texts_.begin(), texts_.end(), t.data<std::string>());
  }
}

}  // namespace emplace
