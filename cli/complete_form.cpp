#include "cli/complete_form.h"

#include <algorithm>

namespace emplace {
namespace {

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

size_t literal_size(std::string_view form) {
  return static_cast<size_t>(std::find_if(form.begin(), form.end(), is_capital) - form.begin());
}

size_t kind_size(std::string_view form) {
  return static_cast<size_t>(std::find_if_not(form.begin(), form.end(), is_capital) - form.begin());
}

}  // namespace

FormPart part_at_end(std::string_view form, std::string_view last, size_t begin) {
  const auto after = [&](size_t found) { return found == last.npos ? begin : found + 1; };
  if (form.starts_with('[')) {  // "[NAME=]TENSOR"
    const size_t close = form.find(']');
    return part_at_end(form.substr(close + 1), last, after(last.find(form[close - 1], begin)));
  }
  if (const std::string_view literal = form.substr(0, literal_size(form)); !literal.empty()) {
    if (literal == form || !last.substr(begin).starts_with(literal))
      return {std::string(last.substr(0, begin)), std::string(literal), {}, {}};
    return part_at_end(form.substr(literal.size()), last, begin + literal.size());
  }
  const std::string_view kind = form.substr(0, kind_size(form)), rest = form.substr(kind.size());
  if (rest == ",...") {
    const size_t comma = last.substr(begin).rfind(',');
    return {std::string(last.substr(0, comma == last.npos ? begin : begin + comma + 1)), {}, kind, {}};
  }
  const bool goes_on = rest.size() > 1 && std::string_view("=@:").find(rest[0]) != rest.npos;
  if (!goes_on) return {std::string(last.substr(0, begin)), {}, kind, {}};
  const size_t found = last.find(rest[0], begin);
  if (found == last.npos) return {std::string(last.substr(0, begin)), {}, kind, rest.substr(0, 1)};
  return part_at_end(rest.substr(1), last, found + 1);
}

std::vector<std::string_view> split_forms(std::string_view forms) {
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin <= forms.size();) {
    const size_t end = std::min(forms.find('|', begin), forms.size());
    const std::string_view form = forms.substr(begin, end - begin);
    if (!form.empty() && (form[0] < '0' || form[0] > '9')) out.push_back(form);  // "60s" is an example
    begin = end + 1;
  }
  return out;
}

}  // namespace emplace
