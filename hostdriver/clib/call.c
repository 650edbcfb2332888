#include "call.h"

#include <pthread.h>

#include "callbacks.h"
#include "channel.h"
#include "handles.h"
#include "marshal.h"
#include "questions.h"
#include "watch.h"

static bool is_handle(const emuzero_param *param)
{
    return param->kind == EMUZERO_KIND_HANDLE;
}

static bool is_pointer(const emuzero_param *param)
{
    return param->kind != EMUZERO_KIND_HANDLE && param->kind != EMUZERO_KIND_BLOB;
}

static ze_result_t check_not_null(const emuzero_function *function, const uint64_t *arguments,
                                  bool (*concerns)(const emuzero_param *), ze_result_t error)
{
    for (int index = 0; index < function->param_count; index++) {
        const emuzero_param *param = &function->params[index];

        if (concerns(param) && !(param->flags & EMUZERO_OPTIONAL) && !arguments[index]) {
            emuzero_set_error("argument %d of %s is null", index + 1, function->name);
            return error;
        }
    }
    return ZE_RESULT_SUCCESS;
}

static ze_result_t check_handles(const emuzero_function *function, const uint64_t *arguments)
{
    for (int index = 0; index < function->param_count; index++) {
        const emuzero_param *param = &function->params[index];
        uint64_t number;

        if (is_handle(param) && arguments[index] &&
            !emuzero_number_of((const void *)(uintptr_t)arguments[index], param->handle, &number)) {
            emuzero_set_error("argument %d of %s, %#llx, is no live handle of its kind", index + 1,
                              function->name, (unsigned long long)arguments[index]);
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        }
    }
    return ZE_RESULT_SUCCESS;
}

/* The order of checks is the driver's: null handle, stale handle, null pointer, all others there. */
static ze_result_t check(const emuzero_function *function, const uint64_t *arguments)
{
    ze_result_t result = check_not_null(function, arguments, is_handle,
                                        ZE_RESULT_ERROR_INVALID_NULL_HANDLE);

    if (result == ZE_RESULT_SUCCESS)
        result = check_handles(function, arguments);
    if (result == ZE_RESULT_SUCCESS)
        result = check_not_null(function, arguments, is_pointer,
                                ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    return result;
}

/* Alternate between the driver's questions and their answers until its reply is there. */
static ze_result_t carry_out(emuzero_slot *slot, const emuzero_function *function)
{
    ze_result_t result;

    emuzero_mark(slot);
    result = emuzero_exchange(slot, EMUZERO_MESSAGE_KIND_CALL, function->number);
    while (result == ZE_RESULT_SUCCESS && slot->header->kind == EMUZERO_MESSAGE_KIND_QUESTION) {
        uint32_t number = emuzero_answer(slot);

        result = emuzero_exchange(slot, EMUZERO_MESSAGE_KIND_ANSWER, number);
    }
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (slot->header->text_size && slot->header->text_size <= slot->capacity - slot->size)
        emuzero_set_error_text((const char *)slot->data + slot->size, slot->header->text_size);
    return (ze_result_t)slot->header->result;
}

static bool is_freed_pointer(const emuzero_param *param)
{
    return param->flags & EMUZERO_RELEASES && param->kind == EMUZERO_KIND_VALUE;
}

/* Take what programs want to be told of when memory is freed, before anybody else can have its
 * address. */
static emuzero_callback *take_callbacks(const emuzero_function *function,
                                        const uint64_t *arguments)
{
    for (int index = 0; index < function->param_count; index++)
        if (is_freed_pointer(&function->params[index]))
            return emuzero_take_callbacks(arguments[index]);
    return NULL;
}

static void drop_released(const emuzero_function *function, const uint64_t *arguments)
{
    for (int index = 0; index < function->param_count; index++)
        if (function->params[index].flags & EMUZERO_RELEASES && is_handle(&function->params[index]))
            emuzero_drop_handle((const void *)(uintptr_t)arguments[index]);
}

/* Lists that a call closes or opens: no other thread is to record into one meanwhile. */
static void open_lists(const emuzero_function *function, const uint64_t *arguments, uint8_t flag,
                       bool is_open)
{
    for (int index = 0; index < function->param_count; index++)
        if (function->params[index].flags & flag)
            emuzero_open_list((const void *)(uintptr_t)arguments[index], is_open);
}

/* Store null where the interface wants it after a failure. */
static void clear_pointers(const emuzero_function *function, const uint64_t *arguments)
{
    for (int index = 0; index < function->param_count; index++)
        if (function->params[index].flags & EMUZERO_NULL_ON_FAILURE && arguments[index])
            *(void **)(uintptr_t)arguments[index] = NULL;
}

static ze_result_t call(const emuzero_function *function, const uint64_t *arguments)
{
    emuzero_callback *callbacks;
    emuzero_slot slot;
    ze_result_t result = check(function, arguments);

    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!function->is_served) {
        emuzero_set_error("%s is not offered by this driver", function->name);
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    }
    result = emuzero_connect();
    if (result != ZE_RESULT_SUCCESS)
        return result;
    open_lists(function, arguments, EMUZERO_CLOSES, false);
    callbacks = take_callbacks(function, arguments);
    slot = emuzero_take_slot();
    slot.times_forgotten = emuzero_times_forgotten();
    result = emuzero_put_arguments(&slot, function, arguments);
    if (result == ZE_RESULT_SUCCESS)
        result = carry_out(&slot, function);
    if (result == ZE_RESULT_SUCCESS)
        result = emuzero_get_outputs(&slot, function, arguments);
    emuzero_give_slot(&slot);
    if (result == ZE_RESULT_SUCCESS) {
        open_lists(function, arguments, EMUZERO_OPENS, true);
        drop_released(function, arguments);
    }
    emuzero_finish_callbacks(callbacks, result == ZE_RESULT_SUCCESS);
    return result;
}

ze_result_t emuzero_call(const emuzero_function *function, const uint64_t *arguments)
{
    bool is_watched = emuzero_enter();
    ze_result_t result;
    int cancelling;

    if (!is_watched || !emuzero_is_refused(function, &result)) {
        /* A thread that ended in the middle would keep its slot, and a lock perhaps. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
        result = call(function, arguments);
        pthread_setcancelstate(cancelling, NULL);
    }
    if (result != ZE_RESULT_SUCCESS)
        clear_pointers(function, arguments);
    return is_watched ? emuzero_leave(function, arguments, result, result) : result;
}
