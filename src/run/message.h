/*
 * Messages between qless-run and the processes of its slots, over a stream socket.
 *
 * A message is the length of its body and its kind, each of four bytes, and the body. Both sides
 * are the same program on the same machine, so numbers are as in memory.
 */
#ifndef RUN_MESSAGE_H
#define RUN_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

enum message_kind {
	/* To a slot. */
	MESSAGE_RUN,  /* the JSON of a job: run it */
	MESSAGE_END,  /* end the program of the job */
	MESSAGE_KILL, /* end it without grace */
	MESSAGE_QUIT, /* the slot ends, too; it has no job */
	/* From a slot. */
	MESSAGE_STARTED,  /* the program runs: its process id, 8 bytes */
	MESSAGE_PROGRESS, /* a line of the program about its progress */
	MESSAGE_ENDED,	  /* nothing of the job is left: struct message_ended, result, errors */
};

/* How the run of a job ended. */
enum message_cause {
	CAUSE_EXITED,	   /* `value` is the exit status */
	CAUSE_SIGNALLED,   /* `value` is the number of the signal */
	CAUSE_NOT_STARTED, /* `value` is an errno, and the errors say what failed */
	CAUSE_ANSWERED,	   /* the result is the line of the program */
	CAUSE_NONSENSE,	   /* the program wrote a line that is no answer: the result has it */
	CAUSE_TIMED_OUT,   /* the program was ended because the time for it was over */
	CAUSE_ORDERED,	   /* the program was ended by MESSAGE_END */
};

struct message_ended {
	uint32_t cause; /* enum message_cause */
	int32_t value;
	uint32_t result_len, errors_len;
	uint32_t is_result_cut, are_errors_cut;
	int64_t processor_us;  /* of all processes of the job that have ended; see slot.c */
	int32_t scratch_error; /* an errno if something of the scratch directory is left */
	int32_t padding;
};

struct message {
	enum message_kind kind;
	struct qless_str body;
};

/* Append a message whose body has two parts. */
void message_append(struct buf *out, enum message_kind kind, struct qless_str first,
		    struct qless_str second);

/* Returns the number of bytes that the first message of `in` takes, or 0 if it is not complete. The
 * message is valid until `in` changes. */
size_t message_read(const struct buf *in, struct message *ret_message);

/* Take the body of MESSAGE_ENDED apart. Returns false if it is too short. */
bool message_read_ended(struct qless_str body, struct message_ended *ret_ended,
			struct qless_str *ret_result, struct qless_str *ret_errors);

#endif
