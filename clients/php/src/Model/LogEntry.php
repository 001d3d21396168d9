<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** A piece of output of a process. */
final class LogEntry
{
    /**
     * @param int $position In the log; counts up.
     * @param string $command The program, or its beginning.
     * @param string|null $tag That the process was started with.
     * @param string|null $traceId Of the `traceparent` that the request which started the process had.
     * @param string $stream `stdout` or `stderr`.
     * @param int $offset Bytes that this output had said before.
     * @param string $data Text, or base64 where it is not UTF-8.
     * @param string $encoding `utf-8` or `base64`.
     */
    public function __construct(
        public readonly int $position,
        public readonly \DateTimeImmutable $at,
        public readonly int $pid,
        public readonly string $command,
        public readonly ?string $tag,
        public readonly ?string $traceId,
        public readonly string $stream,
        public readonly int $offset,
        public readonly string $data,
        public readonly string $encoding,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            position: $fields->int('position'),
            at: $fields->time('at'),
            pid: $fields->int('pid'),
            command: $fields->string('command'),
            tag: $fields->stringOrNull('tag'),
            traceId: $fields->stringOrNull('trace_id'),
            stream: $fields->string('stream'),
            offset: $fields->int('offset'),
            data: $fields->string('data'),
            encoding: $fields->string('encoding'),
        );
    }
}
