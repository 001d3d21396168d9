<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Denial
{
    /**
     * @param \DateTimeImmutable $at The last time.
     * @param DenialKind $kind The kind of the refusal: a connection, an answer for a name, or (limit) an allowed
     *   connection too many at the same time or in a second. An entry of kind limit has the last target.
     * @param string $target The address, or the name that was asked for.
     */
    public function __construct(
        public readonly \DateTimeImmutable $at,
        public readonly DenialKind $kind,
        public readonly string $target,
        public readonly ?int $port,
        public readonly ?string $protocol,
        public readonly int $count,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            at: $fields->time('at'),
            kind: $fields->enum('kind', DenialKind::class),
            target: $fields->string('target'),
            port: $fields->intOrNull('port'),
            protocol: $fields->stringOrNull('protocol'),
            count: $fields->int('count'),
        );
    }
}
