<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class ForkFailure
{
    /**
     * @param string $message A sentence that a person can act on.
     * @param string|null $field JSON pointer or name of the input that is wrong.
     */
    public function __construct(
        public readonly ErrorCode $error,
        public readonly string $message,
        public readonly ?string $field,
        public readonly ?Quota $quota,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            error: $fields->enum('error', ErrorCode::class),
            message: $fields->string('message'),
            field: $fields->stringOrNull('field'),
            quota: $fields->objectOrNull('quota', Quota::read(...)),
        );
    }
}
