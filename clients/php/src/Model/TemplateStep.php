<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * `run` needs `command`; `copy` needs `files`, `source` and `destination`; `env` needs `envs`, `workdir` `path`,
 * `user` `user`. `env`, `workdir` and `user` apply to the steps after them, and to the sandboxes of the version.
 */
final class TemplateStep implements \JsonSerializable
{
    /**
     * @param string|null $command A line for the shell, a login shell.
     * @param string|null $user The user that runs it, or the owner of the copied files (also `user:group`). Default:
     *   the user of the steps, at first `user`.
     * @param string|null $files The hash of an archive that was uploaded by `PUT /v1/template_files/{hash}`.
     * @param string|null $source A path in the archive: a file, a folder (of which the contents are copied) or a
     *   pattern.
     * @param string|null $destination Where to; a relative path begins in the folder of the steps. A folder ends
     *   with a slash.
     * @param string|null $mode Mode of the copied files, as chmod takes it: octal, or changes such as `u+x`;
     *   default: as in the archive.
     * @param string|null $path The folder that the next steps begin in; it is made.
     * @param array<string, string>|null $envs
     * @param bool|null $expand Of an `env` step: `$NAME`, `${NAME}`, `${NAME:-word}` and `${NAME:+word}` in values
     *   stand for variables of earlier steps, and `PATH`, as in a Dockerfile.
     */
    public function __construct(
        public readonly TemplateStepType $type,
        public readonly ?string $command = null,
        public readonly ?string $user = null,
        public readonly ?string $files = null,
        public readonly ?string $source = null,
        public readonly ?string $destination = null,
        public readonly ?string $mode = null,
        public readonly ?string $path = null,
        public readonly ?array $envs = null,
        public readonly ?bool $expand = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'type' => $this->type,
            'command' => $this->command,
            'user' => $this->user,
            'files' => $this->files,
            'source' => $this->source,
            'destination' => $this->destination,
            'mode' => $this->mode,
            'path' => $this->path,
            'envs' => Members::map($this->envs),
            'expand' => $this->expand,
        ]);
    }
}
