// RegexReplace, StaticRegexReplace, RegexFullMatch, StaticRegexFullMatch: regular expressions, by RE2 as in TensorFlow.
#include <re2/re2.h>

#include <memory>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/text/text_map.h"

namespace emplace {
namespace {

/// A pattern, compiled when it is first seen, and again when it is another one.
class Pattern {
 public:
  Result<const re2::RE2*> compiled(const std::string& text) {
    if (!compiled_ || compiled_->pattern() != text) {
      re2::RE2::Options options;
      options.set_log_errors(false);
      auto made = std::make_unique<re2::RE2>(text, options);
      if (!made->ok()) return invalid_argument(cat("Invalid pattern: ", text, ", error: ", made->error()));
      compiled_ = std::move(made);
    }
    return compiled_.get();
  }

 private:
  std::unique_ptr<re2::RE2> compiled_;
};

Status replace(KernelContext& c, const re2::RE2& pattern, const std::string& rewrite, bool everywhere) {
  return map_texts<std::string>(c, [&](std::string text) {
    // A rewrite that names groups which are not there leaves the text as it is.
    static_cast<void>(everywhere ? re2::RE2::GlobalReplace(&text, pattern, rewrite) > 0
                                 : re2::RE2::Replace(&text, pattern, rewrite));
    return text;
  });
}

Status full_match(KernelContext& c, const re2::RE2& pattern) {
  return map_texts<bool>(c, [&](const std::string& text) { return re2::RE2::FullMatch(text, pattern); });
}

Status check_scalar(KernelContext& c, int input, std::string_view name) {
  if (c.input(input).shape().rank() == 0) return ok_status();
  return invalid_argument(cat(name, " must be scalar, but received ", c.input(input).shape().to_string()));
}

class RegexReplace final : public Kernel {
 public:
  explicit RegexReplace(const KernelInit& init) : everywhere_(init.attrs.flag("replace_global")) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check_scalar(c, 1, "Pattern"));
    RETURN_IF_ERROR(check_scalar(c, 2, "Rewrite"));
    ASSIGN_OR_RETURN(const re2::RE2* pattern, pattern_.compiled(*c.in<std::string>(1)));
    return replace(c, *pattern, *c.in<std::string>(2), everywhere_);
  }

 private:
  bool everywhere_;
  Pattern pattern_;
};

class StaticRegexReplace final : public Kernel {
 public:
  explicit StaticRegexReplace(const KernelInit& init)
      : text_(init.attrs.text("pattern")),
        rewrite_(init.attrs.text("rewrite")),
        everywhere_(init.attrs.flag("replace_global")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const re2::RE2* pattern, pattern_.compiled(text_));
    return replace(c, *pattern, rewrite_, everywhere_);
  }

 private:
  std::string text_, rewrite_;
  bool everywhere_;
  Pattern pattern_;
};

class RegexFullMatch final : public Kernel {
 public:
  explicit RegexFullMatch(const KernelInit&) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check_scalar(c, 1, "Pattern"));
    ASSIGN_OR_RETURN(const re2::RE2* pattern, pattern_.compiled(*c.in<std::string>(1)));
    return full_match(c, *pattern);
  }

 private:
  Pattern pattern_;
};

class StaticRegexFullMatch final : public Kernel {
 public:
  explicit StaticRegexFullMatch(const KernelInit& init) : text_(init.attrs.text("pattern")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const re2::RE2* pattern, pattern_.compiled(text_));
    return full_match(c, *pattern);
  }

 private:
  std::string text_;
  Pattern pattern_;
};

/// What stands beside the texts is one pattern, and one rewrite.
Status regex_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.with_rank(i, 0).take_status());
  return shape_unchanged(c);
}

}  // namespace

OpDef regex_replace_op() {
  return OpDef("RegexReplace")
      .doc("Each text with the rewrite for what matches the pattern, everywhere or once; \\1 is the first group.")
      .shape(regex_shape)
      .cpu(make<RegexReplace>)
      .not_differentiable();
}
OpDef static_regex_replace_op() {
  return OpDef("StaticRegexReplace")
      .doc("RegexReplace with a pattern and a rewrite that are attrs.")
      .shape(regex_shape)
      .cpu(make<StaticRegexReplace>);
}
OpDef regex_full_match_op() {
  return OpDef("RegexFullMatch")
      .doc("Does each text match the pattern as a whole?")
      .shape(regex_shape)
      .cpu(make<RegexFullMatch>);
}
OpDef static_regex_full_match_op() {
  return OpDef("StaticRegexFullMatch")
      .doc("RegexFullMatch with a pattern that is an attr.")
      .shape(regex_shape)
      .cpu(make<StaticRegexFullMatch>)
      .not_differentiable();
}

}  // namespace emplace
