// Part of core/op/table_text.h: The files of core/op/tables, put into the binary as they are: read-only pages that cost
// nothing until touched.
#include "core/op/table_text.h"

#define EMPLACE_EMBED(symbol, file)                                                        \
  __asm__(".pushsection .rodata." #symbol ",\"a\"\n" #symbol                               \
          ":\n"                                                                            \
          ".incbin \"" EMPLACE_TABLES_DIR "/" file "\"\n" #symbol "_end:\n.popsection\n"); \
  extern "C" const char symbol[] __attribute__((visibility("hidden")));                    \
  extern "C" const char symbol##_end[] __attribute__((visibility("hidden")))

EMPLACE_EMBED(emplace_ops, "ops.txt");
EMPLACE_EMBED(emplace_kernels, "kernels.txt");
EMPLACE_EMBED(emplace_extra_ops, "extra_ops.txt");
EMPLACE_EMBED(emplace_extra_kernels, "extra_kernels.txt");

namespace emplace {

OpTables tensorflow_tables() { return {{emplace_ops, emplace_ops_end}, {emplace_kernels, emplace_kernels_end}}; }

OpTables extra_tables() {
  return {{emplace_extra_ops, emplace_extra_ops_end}, {emplace_extra_kernels, emplace_extra_kernels_end}};
}

}  // namespace emplace
