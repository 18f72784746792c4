#include "core/train/gradient_fetch.h"

#include <algorithm>
#include <vector>

#include "core/base/cat.h"
#include "core/graph/lookup.h"
#include "core/train/gradients.h"

namespace emplace {
namespace {

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

struct Wanted {
  const NamedRef* name;
  Endpoint x;
};

// All gradients that are asked for of one loss.
struct OfLoss {
  Endpoint loss;
  std::vector<Wanted> wanted;
};

std::vector<OfLoss> by_loss(const Graph& graph, std::span<const NamedRef> fetches, Problems& problems) {
  std::vector<OfLoss> losses;
  for (const NamedRef& ref : fetches) {
    auto name = parse_gradient_name(ref.name);
    if (!name) continue;
    NameError error;
    const Endpoint loss = find_tensor(graph, name->loss, error);
    const Endpoint x = loss.node == kNoNode ? Endpoint{} : find_tensor(graph, name->x, error);
    if (x.node == kNoNode) {
      problems.add(ref.position, cat("fetch: '", ref.name, "': ", error.message), error.hint);
      continue;
    }
    auto known = std::find_if(losses.begin(), losses.end(), [&](const OfLoss& l) { return l.loss == loss; });
    if (known == losses.end()) known = losses.insert(losses.end(), OfLoss{loss, {}});
    known->wanted.push_back({&ref, x});
  }
  return losses;
}

}  // namespace

std::optional<GradientName> parse_gradient_name(std::string_view name) {
  constexpr std::string_view kStart = "gradients(";
  const size_t comma = name.find(',');
  if (!name.starts_with(kStart) || !name.ends_with(')') || comma == std::string_view::npos) return std::nullopt;
  name.remove_suffix(1);
  return GradientName{trim(name.substr(kStart.size(), comma - kStart.size())), trim(name.substr(comma + 1))};
}

NamedTensors add_fetched_gradients(GraphFile& file, std::span<const NamedRef> fetches, bool colocate,
                                   Problems& problems, Problems* contradictions) {
  std::vector<OfLoss> losses = by_loss(file.graph, fetches, problems);
  NamedTensors tensors;
  if (losses.empty() || !problems.empty()) return tensors;
  GraphEditor edit(file);
  for (const OfLoss& of : losses) {
    std::vector<Endpoint> xs;
    for (const Wanted& w : of.wanted) xs.push_back(w.x);
    Result<Gradients> gradients = add_gradients(edit, of.loss, xs, {.colocate = colocate});
    if (!gradients.ok()) {
      problems.add(of.wanted.front().name->position,
                   cat("fetch: '", of.wanted.front().name->name, "': ", gradients.status().message()), {},
                   gradients.status().code());
      continue;
    }
    for (size_t i = 0; i < of.wanted.size(); ++i) {
      const NamedRef& name = *of.wanted[i].name;
      if (!gradients->why_not[i].empty()) {
        problems.add(name.position, cat("fetch: there is no '", name.name, "': ", gradients->why_not[i]));
      }
      tensors.insert_or_assign(name.name, gradients->of[i]);
    }
  }
  if (!problems.empty()) return {};
  edit.finish(problems, contradictions);
  if (!problems.empty()) return {};
  for (auto& [name, tensor] : tensors) tensor = edit.new_id(tensor);
  return tensors;
}

}  // namespace emplace
