#include "core/graph/open_source.h"

#include <utility>

namespace emplace {
namespace {

class FileText final : public Source {
 public:
  FileText(std::string name, std::shared_ptr<const InputFile> file) : file_(std::move(file)) {
    name_ = std::move(name);
    text_ = file_->bytes();
  }
  void forget(size_t begin, size_t end) const override { file_->forget(begin, end); }

 private:
  std::shared_ptr<const InputFile> file_;
};

}  // namespace

Result<std::shared_ptr<const Source>> open_source(const std::string& path, const InputOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(path, options));
  return std::shared_ptr<const Source>(std::make_shared<FileText>(path == "-" ? "<stdin>" : path, std::move(file)));
}

Result<std::shared_ptr<const Source>> Source::open(const std::string& path) { return open_source(path, {}); }

}  // namespace emplace
