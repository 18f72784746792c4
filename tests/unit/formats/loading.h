/// A graph file loaded from text, for tests.
#pragma once

#include <string>

#include "core/graph/graph_file.h"

namespace emplace {

class Loaded {
 public:
  explicit Loaded(std::string text, const LoadOptions& options = {})
      : source_(Source::from_text("g.json", std::move(text))), file_(load(source_, options, problems_)) {}

  GraphFile* operator->() { return file_.get(); }
  const Problems& problems() const { return problems_; }
  /// All problems as a user sees them.
  std::string errors() const { return problems_.to_string(*source_); }
  /// The first problem's message; empty if there is none.
  std::string error() const { return problems_.empty() ? "" : problems_.list().front().message; }
  /// An attr as written; an AttrValue without a kind if there is none.
  const AttrValue& attr(std::string_view node, std::string_view name) const {
    static const AttrValue kNothing;
    NodeId id = file_->graph.find(node);
    const AttrValue* value = id == kNoNode ? nullptr : Attrs(file_->graph.written_attrs(id)).find(name);
    return value ? *value : kNothing;
  }

 private:
  Problems problems_;
  std::shared_ptr<const Source> source_;
  std::unique_ptr<GraphFile> file_;
};

}  // namespace emplace
