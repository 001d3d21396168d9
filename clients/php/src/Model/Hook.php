<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Hook implements \JsonSerializable
{
    /**
     * @param string $command A line for `/bin/sh`, which begins in `/`.
     * @param string|null $user Default: the sandbox's default user.
     * @param int|null $timeout Seconds after which sandlot kills the command. The hook has then failed.
     */
    public function __construct(
        public readonly string $command,
        public readonly ?string $user = null,
        public readonly ?int $timeout = null,
        public readonly ?HookOnFailure $onFailure = null,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            command: $fields->string('command'),
            user: $fields->stringOrNull('user'),
            timeout: $fields->intOrNull('timeout'),
            onFailure: $fields->enumOrNull('on_failure', HookOnFailure::class),
        );
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'command' => $this->command,
            'user' => $this->user,
            'timeout' => $this->timeout,
            'on_failure' => $this->onFailure,
        ]);
    }
}
