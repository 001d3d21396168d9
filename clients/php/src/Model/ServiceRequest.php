<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class ServiceRequest implements \JsonSerializable
{
    /**
     * @param string $command A line for `/bin/sh`. The program must stay in the foreground: the service ends with
     *   it.
     * @param string|null $user Default: the sandbox's default user.
     * @param string|null $cwd Default: the working directory of other commands.
     * @param array<string, string>|null $envs Environment variables, in addition to those of the sandbox. No answer
     *   shows them.
     * @param ServiceRequestHealth|null $health A command that exits with 0 while the service works. After three
     *   failures in a row, the service is stopped and started again, unless `restart` is `no`.
     */
    public function __construct(
        public readonly string $name,
        public readonly string $command,
        public readonly ?string $user = null,
        public readonly ?string $cwd = null,
        public readonly ?array $envs = null,
        public readonly ?ServiceRestart $restart = null,
        public readonly ?ServiceRequestHealth $health = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'name' => $this->name,
            'command' => $this->command,
            'user' => $this->user,
            'cwd' => $this->cwd,
            'envs' => Members::map($this->envs),
            'restart' => $this->restart,
            'health' => $this->health,
        ]);
    }
}
