/*
 * For the files that save a section of a job in a snapshot, see state.c.
 */
#ifndef ENGINE_STATE_SAVE_H
#define ENGINE_STATE_SAVE_H

#include <stdint.h>

#include "engine/state_int.h"

struct saver;

void state_save_byte(struct saver *s, unsigned value);
void state_save_varint(struct saver *s, uint64_t value);
void state_save_number(struct saver *s, double value);
void state_save_time(struct saver *s, double value);
void state_save_text(struct saver *s, struct qless_str text);
void state_save_name(struct saver *s, enum state_kind kind, const struct intern *name);

#endif
