# Fuzz targets, the files tests/fuzz/*_fuzz.cpp. Beside ASan all are one program, emplace_replay, which replays the corpus of one and
# mutates it a bounded number of times; with libFuzzer (EMPLACE_LIBFUZZER, Clang: `cmake --preset fuzz`) each is a program that searches.
file(GLOB FUZZ_SOURCES CONFIGURE_DEPENDS tests/fuzz/*_fuzz.cpp)
if(EMPLACE_LIBFUZZER)
  # What reads is compiled for libFuzzer, with sanitizers; all else (kernels, planning, running) is the release build's, which
  # scripts/fuzz sees to. The objects with sanitizers come first: of what is there twice the linker takes theirs.
  file(GLOB_RECURSE FUZZED_SOURCES CONFIGURE_DEPENDS core/base/*.cpp core/device/*.cpp core/formats/*.cpp core/graph/*.cpp
       core/tensor/*.cpp)
  list(FILTER FUZZED_SOURCES EXCLUDE REGEX /graph/lower/)
  list(APPEND FUZZED_SOURCES ${CMAKE_SOURCE_DIR}/core/train/csv.cpp ${CMAKE_SOURCE_DIR}/core/train/idx.cpp)
  file(GLOB FUZZED_IMAGE_SOURCES CONFIGURE_DEPENDS core/ops/image_file/*_file.cpp)
  list(APPEND FUZZED_SOURCES ${FUZZED_IMAGE_SOURCES})
  add_library(emplace_fuzzed OBJECT EXCLUDE_FROM_ALL ${FUZZED_SOURCES})
  target_link_libraries(emplace_fuzzed PRIVATE emplace_flags)
  # Checks of every pointer double the time to compile and find what ASan finds.
  target_compile_options(emplace_fuzzed PRIVATE -fsanitize=fuzzer-no-link -fno-sanitize=null,alignment,object-size,vptr)
  target_precompile_headers(emplace_fuzzed PRIVATE ${EMPLACE_STL_HEADERS} <core/op/op_def.h> <core/graph/graph_file.h>)
  if(EMPLACE_UNITY)
    emplace_compile_together(emplace_fuzzed)
  endif()
  add_library(emplace_released STATIC IMPORTED)
  set_target_properties(emplace_released PROPERTIES IMPORTED_LOCATION ${CMAKE_SOURCE_DIR}/build/libemplace_core.a
                        INTERFACE_LINK_LIBRARIES "${EMPLACE_RE2};${EMPLACE_JPEG};${EMPLACE_PNG};ZLIB::ZLIB;Threads::Threads;${CMAKE_DL_LIBS}")
endif()
if(EMPLACE_LIBFUZZER)
  foreach(source ${FUZZ_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    add_executable(emplace_${name} ${source} $<TARGET_OBJECTS:emplace_fuzzed>)
    target_link_libraries(emplace_${name} PRIVATE emplace_flags emplace_released)
    target_link_options(emplace_${name} PRIVATE -fsanitize=fuzzer -Wl,-z,muldefs)
  endforeach()
elseif(EMPLACE_SANITIZE MATCHES "address")
  add_executable(emplace_replay tests/fuzz/replay_main.cpp ${FUZZ_SOURCES})
  target_link_libraries(emplace_replay PRIVATE emplace_core)
  set(targets)
  foreach(source ${FUZZ_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE "_fuzz" "" name ${name})
    string(APPEND targets " TARGET(${name})")
    set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=fuzz_${name})
  endforeach()
  set_source_files_properties(tests/fuzz/replay_main.cpp PROPERTIES
                              COMPILE_DEFINITIONS "EMPLACE_FUZZ_TARGETS=${targets};EMPLACE_CORPORA=\"${CMAKE_SOURCE_DIR}/tests/fuzz/corpus\"")
endif()
