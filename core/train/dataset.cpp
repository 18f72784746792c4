#include "core/train/dataset.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "core/base/cat.h"
#include "core/base/input_file.h"
#include "core/graph/lookup.h"
#include "core/graph/open_source.h"
#include "core/tensor/npy.h"
#include "core/train/idx.h"

namespace emplace {
namespace {

enum class FileKind { kCsv, kNpy, kNpz, kIdx };

/// By the first bytes, else by the name: a damaged file is not to be read as text.
FileKind kind_of(std::string_view bytes, std::string_view path) {
  if (bytes.starts_with("\x93NUMPY")) return FileKind::kNpy;
  if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) return FileKind::kNpz;
  if (looks_like_idx(bytes) || path.ends_with("-ubyte")) return FileKind::kIdx;
  return path.ends_with(".npz") ? FileKind::kNpz : path.ends_with(".npy") ? FileKind::kNpy : FileKind::kCsv;
}

/// As a person would name it: relative to where they are, if it lies below.
std::string shown_name(const std::string& path) {
  std::error_code error;
  std::filesystem::path relative = std::filesystem::proximate(path, error);
  return error || relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

/// "0-63,70" of a matrix with so many columns.
Result<std::vector<int64_t>> number_ranges(std::string_view text, int64_t width) {
  std::vector<int64_t> list;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    int64_t first = -1, last = -1;
    const char* end = word.data() + word.size();
    auto read = std::from_chars(word.data(), end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || read.ptr != end || first < 0 || last < first)
      return invalid_argument(cat("'", word, "' is not a range of columns; write 0-63 or 64"));
    if (last >= width)
      return invalid_argument(cat("found ", width, " columns, wanted column ", last, " (counted from 0)"));
    for (int64_t c = first; c <= last; ++c) list.push_back(c);
  }
  return list;
}

/// The placeholder's dimensions without the batch, where the sample's elements fit them; what is open is filled.
std::optional<Shape> sample_shape(const Shape& placeholder, const std::optional<Shape>& wanted, const Shape& found) {
  Shape shape = found;
  if (wanted && wanted->rank_known()) {
    shape = *wanted;
  } else if (placeholder.rank_known()) {
    shape = Shape{};
    for (int i = 1; i < placeholder.rank(); ++i) shape.add_dim(placeholder.dim(i));
  }
  int64_t known = 1, open = 0;
  for (int64_t d : shape.dims()) d < 0 ? static_cast<void>(++open) : static_cast<void>(known *= d);
  const int64_t elements = found.num_elements();
  if (open > 1) return shape.compatible_with(found) ? std::optional(found) : std::nullopt;
  if (open == 1 && (known == 0 || elements % known != 0)) return std::nullopt;
  Shape full;
  for (int64_t d : shape.dims()) full.add_dim(d < 0 ? elements / known : d);
  return full.num_elements() == elements ? std::optional(full) : std::nullopt;
}

}  // namespace

class DatasetReader {
 public:
  DatasetReader(const GraphFile& file, const DataSet& request, std::string_view which, DataProblems& problems)
      : graph_(file.graph), request_(request), which_(which), problems_(problems) {}

  std::unique_ptr<Dataset> read() {
    auto data = std::make_unique<Dataset>();
    data->parts_.resize(request_.feeds.size());
    for (size_t i = 0; i < request_.feeds.size(); ++i) {
      if (!read_part(i, *data)) data->placeholders_.push_back({});
    }
    read_csv_files(*data);
    if (!problems_.empty()) return nullptr;
    for (size_t i = 0; i < request_.feeds.size(); ++i) fit(i, *data);
    if (problems_.empty()) check_rows(*data);
    return problems_.empty() ? std::move(data) : nullptr;
  }

 private:
  void problem(const FeedRequest& feed, const std::string& message, std::string hint = {}) {
    problems_.graph.add(feed.position, cat("data ", which_, ", feed '", feed.placeholder.name, "': ", message),
                        std::move(hint));
  }

  /// Feeds that share a file share what is wrong with it.
  void file_problem(const Status& status) {
    const std::string& message = status.message();
    if (problems_.files.find(message) == std::string::npos) append(problems_.files, message, "\n");
    if (status.code() == Code::kResourceExhausted) problems_.code = status.code();
  }

  std::shared_ptr<const Source> open(const std::string& path) {
    auto& source = sources_[path];
    if (source) return source;
    auto opened = open_source(path, kOfData);
    if (opened.ok()) return source = opened.take();
    file_problem(opened.status());
    return nullptr;
  }

  bool read_part(size_t i, Dataset& data) {
    const FeedRequest& feed = request_.feeds[i];
    Dataset::Part& part = data.parts_[i];
    NameError error;
    Endpoint tensor = find_fed_tensor(graph_, feed.placeholder.name, error);
    if (tensor.node == kNoNode) {
      problems_.graph.add(feed.placeholder.position, cat("data ", which_, ": ", error.message), error.hint);
      return false;
    }
    part.dtype = base_type(graph_.output_type(tensor));
    data.placeholders_.push_back(tensor);
    std::string path = feed.file.empty() ? request_.file : feed.file;
    if (path.empty()) return problem(feed, "no file", "write \"file\" beside \"feed\", or into this feed"), true;
    auto source = open(path);
    if (!source) return true;
    part.file = shown_name(path);
    Result<Tensor> array = Tensor();
    switch (kind_of(source->text().substr(0, 16), path)) {
      case FileKind::kCsv:
        csv_files_[path].push_back(i);
        return true;
      case FileKind::kNpy:
        array = read_npy(path, kOfData);
        break;
      case FileKind::kNpz:
        array = read_npz(path, feed.key.empty() ? feed.placeholder.name : feed.key, kOfData);
        break;
      case FileKind::kIdx:
        array = read_idx(feed, path, part);
        break;
    }
    if (!array.ok()) return file_problem(array.status()), true;
    part.samples = {array.take(), feed.scale, feed.offset, {}};
    if (feed.key.empty() && !feed.columns.empty()) choose_columns(feed, part);
    return true;
  }

  /// Key "labels": the file that stands beside "...-images-idx3-ubyte" with the labels.
  Result<Tensor> read_idx(const FeedRequest& feed, std::string path, Dataset::Part& part) {
    const std::string& key = feed.key.empty() ? feed.placeholder.name : feed.key;
    static constexpr std::string_view kImages = "-images-idx3-", kLabels = "-labels-idx1-";
    size_t at = path.rfind(key == "labels" ? kImages : key == "images" ? kLabels : "\n");
    if (at != std::string::npos) path.replace(at, kImages.size(), key == "labels" ? kLabels : kImages);
    ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(path, kOfData));
    part.file = shown_name(path);
    return parse_idx(file->bytes(), part.file, file.get());
  }

  void choose_columns(const FeedRequest& feed, Dataset::Part& part) {
    const Shape& shape = part.samples.values.shape();
    if (shape.rank() != 2)
      return problem(feed, cat("'columns' of an array of shape ", shape.to_string(), "; wanted a matrix"));
    Result<std::vector<int64_t>> columns = number_ranges(feed.columns, shape.dim(1));
    if (!columns.ok()) return problem(feed, columns.status().message());
    part.samples.columns = columns.take();
  }

  void read_csv_files(Dataset& data) {
    for (const auto& [path, feeds] : csv_files_) {
      std::vector<CsvSelection> selections;
      for (size_t i : feeds) {
        const FeedRequest& f = request_.feeds[i];
        selections.push_back({f.columns, f.placeholder.name, data.parts_[i].dtype, f.scale, f.offset});
      }
      const std::string& name = data.parts_[feeds.front()].file;
      const auto source = open(path);
      if (!source) continue;
      Problems problems;
      CsvTable table = read_csv(*source, request_.header, selections, problems);
      if (!problems.empty()) append(problems_.files, problems.to_string(NamedText(name, source->text())));
      for (const Problem& p : problems.list()) {
        if (p.code == Code::kResourceExhausted) problems_.code = p.code;
      }
      if (!problems.empty() || table.arrays.empty()) continue;
      auto lines = std::make_shared<const CsvLines>(CsvLines{std::move(table.lines), std::move(table.memory)});
      for (size_t k = 0; k < feeds.size(); ++k) {
        Dataset::Part& part = data.parts_[feeds[k]];
        part.samples.values = std::move(table.arrays[k]);
        part.source = source;
        part.lines = lines;
        part.first_column = table.columns[k].front();
      }
    }
  }

  /// Do the samples fit the placeholder?
  void fit(size_t i, Dataset& data) {
    const FeedRequest& feed = request_.feeds[i];
    Dataset::Part& part = data.parts_[i];
    const Shape& placeholder = graph_.output_shape(data.placeholders_[i]);
    const Tensor& values = part.samples.values;
    bool scaled = part.samples.scale != 1 || part.samples.offset != 0;
    if (!can_feed(values.dtype(), part.dtype, scaled)) {
      return problem(feed, cat(part.file, " holds ", dtype_name(values.dtype()), scaled ? " (scaled)" : "",
                               ", the placeholder is ", dtype_name(part.dtype)));
    }
    if (values.shape().rank() == 0) return problem(feed, cat(part.file, " holds one number; wanted a row per sample"));
    if (placeholder.rank_known() && placeholder.rank() == 0)
      return problem(feed, "the placeholder is a scalar: it has no room for a batch");
    Shape found;
    if (!part.samples.columns.empty()) {
      found.add_dim(part.samples.elements());
    } else {
      for (int d = 1; d < values.shape().rank(); ++d) found.add_dim(values.shape().dim(d));
    }
    bool one_column = part.source && found.num_elements() == 1 && !placeholder.rank_known() && !feed.shape;
    std::optional<Shape> shape = one_column ? std::optional(Shape{}) : sample_shape(placeholder, feed.shape, found);
    Shape full{placeholder.rank_known() ? placeholder.dim(0) : -1};
    if (shape) {
      for (int64_t d : shape->dims()) full.add_dim(d);
    }
    if (!shape || !placeholder.compatible_with(full)) {
      return problem(feed, cat("a sample in ", part.file, " has shape ", found.to_string(),
                               feed.shape ? cat(" (as ", feed.shape->to_string(), ")") : "",
                               ", the placeholder takes batches of shape ", placeholder.to_string()));
    }
    part.shape = *shape;
    if (placeholder.rank_known() && placeholder.dim(0) >= 0) data.fixed_batch_ = placeholder.dim(0);
  }

  void check_rows(Dataset& data) {
    data.rows_ = data.parts_.empty() ? 0 : data.parts_.front().samples.rows();
    for (size_t i = 0; i < data.parts_.size(); ++i) {
      int64_t rows = data.parts_[i].samples.rows();
      if (rows == data.rows_) continue;
      return problem(request_.feeds[i],
                     cat(data.parts_[i].file, " has ", rows, " rows, ", data.parts_.front().file, " has ", data.rows_));
    }
    if (data.rows_ == 0)
      append(problems_.files, data.parts_.empty() ? std::string(which_) : data.parts_.front().file, ": no rows\n");
  }

  const Graph& graph_;
  const DataSet& request_;
  std::string_view which_;
  DataProblems& problems_;
  /// A file that a graph names is no pipe; of mapped pages those count that are kept as samples.
  static constexpr InputOptions kOfData{.use = HostUse::kData, .pipes = false, .count_mapped = false, .kept = true};
  std::map<std::string, std::shared_ptr<const Source>> sources_;  // by path
  std::map<std::string, std::vector<size_t>> csv_files_;          // by path: the feeds that they hold
};

std::unique_ptr<Dataset> Dataset::read(const GraphFile& file, const DataSet& request, std::string_view which,
                                       DataProblems& problems) {
  return DatasetReader(file, request, which, problems).read();
}

int64_t Dataset::sample_bytes() const {
  int64_t bytes = 0;
  for (const Part& p : parts_) bytes += p.shape.num_elements() * static_cast<int64_t>(storage_size(p.dtype));
  return bytes;
}

Status Dataset::gather(std::span<const int64_t> rows, std::vector<Tensor>& batch) const {
  const HostUseScope use(HostUse::kData);
  batch.resize(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    Shape shape{static_cast<int64_t>(rows.size())};
    for (int64_t d : parts_[i].shape.dims()) shape.add_dim(d);
    if (!batch[i].valid() || batch[i].shape() != shape) {
      ASSIGN_OR_RETURN(batch[i], Tensor::allocate(parts_[i].dtype, shape));
    }
    if (Status status = parts_[i].samples.gather(rows, batch[i]); !status.ok())
      return status.with_context(parts_[i].file);
  }
  return ok_status();
}

std::string Dataset::where(size_t placeholder, int64_t row) const {
  const Part& part = parts_[placeholder];
  if (!part.source) return cat(part.file, ", row ", row);
  return cat(part.file, ":",
             part.source->locate(static_cast<size_t>(part.lines->starts[static_cast<size_t>(row)])).line);
}

}  // namespace emplace
