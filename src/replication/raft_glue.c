/* Data that scripts/link-raft.sh puts in place of data of the C library. */
#include "replication/core_int.h"

/* For traces, which are off. */
FILE *const raft_glue_stderr = NULL;
/* The library compares it to the name of a test of another project. */
const char *const raft_glue_program = "qlessd";
