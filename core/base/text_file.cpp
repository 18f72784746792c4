#include "core/base/text_file.h"

#include "core/base/output_file.h"

namespace emplace {

Status write_text_file(const std::string& path, std::string_view text) {
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::open(path));
  RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

}  // namespace emplace
