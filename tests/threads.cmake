# emplace_tsan: the program with what threads share under ThreadSanitizer. The rooms that start threads, or keep what several use, are
# compiled with it; all else (readers, placement, most kernels, the command line) is taken from the build without: 20 objects,
# where a whole build with TSan (`cmake --preset tsan`) has them all. The objects with it come first: of inline functions the
# linker takes theirs.
file(GLOB_RECURSE THREADS_SOURCES CONFIGURE_DEPENDS core/base/*.cpp core/device/*.cpp core/run/*.cpp core/ops/random/*.cpp
     core/ops/state/*.cpp core/train/*.cpp)
list(APPEND THREADS_SOURCES ${CMAKE_SOURCE_DIR}/core/op/kernel.cpp ${CMAKE_SOURCE_DIR}/core/tensor/tensor.cpp)
file(GLOB THREADS_PIPELINE CONFIGURE_DEPENDS core/*.cpp)
add_library(emplace_with_tsan OBJECT EXCLUDE_FROM_ALL ${THREADS_SOURCES} ${THREADS_PIPELINE})
target_link_libraries(emplace_with_tsan PRIVATE emplace_flags)
set(TSAN -fsanitize=thread -O1 -g0 -fno-omit-frame-pointer -U_FORTIFY_SOURCE)
target_compile_options(emplace_with_tsan PRIVATE ${TSAN})
target_precompile_headers(emplace_with_tsan PRIVATE ${EMPLACE_STL_HEADERS} <core/op/op_def.h> <core/graph/graph_file.h>)
set_target_properties(emplace_with_tsan PROPERTIES UNITY_BUILD ${EMPLACE_UNITY} UNITY_BUILD_MODE GROUP)

# Objects of the release build bring along what stands in one of these, too, where a room is not here as a whole: the first counts.
add_executable(emplace_tsan EXCLUDE_FROM_ALL $<TARGET_OBJECTS:emplace_with_tsan> $<TARGET_OBJECTS:emplace_cli>)
target_link_libraries(emplace_tsan PRIVATE emplace_core)
target_link_options(emplace_tsan PRIVATE -fsanitize=thread -Wl,-z,muldefs)
