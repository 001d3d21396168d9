<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\File;

use Psr\Http\Message\StreamInterface;
use Sandlot\Exception\AgentException;
use Sandlot\Exception\LocalFileException;
use Sandlot\Exception\StreamCutException;
use Sandlot\Http\DataPlane;
use Sandlot\Http\EnvelopeStream;
use Sandlot\Http\Repeat;
use Sandlot\Model\Fields;

/** Files of one sandbox. Paths are absolute, or in the home of the user; what is new belongs to that user. */
final class Files
{
    /** @internal */
    public function __construct(private readonly DataPlane $plane, private readonly ?string $user = null)
    {
    }

    /** The same for another user of the sandbox, such as root. */
    public function as(string $user): self
    {
        return new self($this->plane, $user);
    }

    public function read(string $path): string
    {
        return $this->open($path)->getContents();
    }

    /** The bytes as they come. */
    public function open(string $path): StreamInterface
    {
        return $this->plane->download('/files', $this->query($path));
    }

    /** Into a file of this machine, which is there when it is whole. */
    public function download(string $path, string $localPath): void
    {
        $part = "{$localPath}.part";
        $file = @fopen($part, 'w') ?: throw new LocalFileException("{$part} cannot be written.");
        try {
            $body = $this->open($path);
            while (!$body->eof()) {
                $piece = $body->read(1 << 16);
                if (@fwrite($file, $piece) !== strlen($piece)) {
                    throw new LocalFileException("{$part} cannot be written to its end.");
                }
            }
            if (!@rename($part, $localPath)) {
                throw new LocalFileException("{$localPath} cannot be written.");
            }
        } finally {
            fclose($file);
            if (is_file($part)) {
                unlink($part);
            }
        }
    }

    /**
     * Directories on the way are made, and what was there is replaced.
     *
     * @param string|resource|StreamInterface $content of any size
     * @return string the absolute path
     */
    public function write(string $path, mixed $content): string
    {
        return $this->plane->upload('/files', $this->query($path), $content)->fields('0')?->string('path') ?? $path;
    }

    /** A file of this machine. */
    public function upload(string $localPath, string $path): string
    {
        $file = @fopen($localPath, 'r') ?: throw new LocalFileException("{$localPath} cannot be read.");
        try {
            return $this->write($path, $file);
        } finally {
            fclose($file);
        }
    }

    /** An address at which a browser gets the file without a token, until then or the session's end. */
    public function downloadLink(string $path, int $seconds = 900): string
    {
        return $this->plane->link('read', $path, $this->user, $seconds);
    }

    /** The same for a file that is to come, by POST as multipart/form-data or application/octet-stream. */
    public function uploadLink(string $path, int $seconds = 900): string
    {
        return $this->plane->link('write', $path, $this->user, $seconds);
    }

    /**
     * Depth first; 1 is the directory's own entries.
     *
     * @return list<FileInfo>
     */
    public function list(string $path, int $depth = 1): array
    {
        return $this->call('ListDir', ['path' => $path, 'depth' => $depth])->objects('entries', FileInfo::read(...));
    }

    /** @throws AgentException */
    public function stat(string $path): FileInfo
    {
        return $this->call('Stat', ['path' => $path])->object('entry', FileInfo::read(...));
    }

    public function exists(string $path): bool
    {
        try {
            $this->stat($path);
            return true;
        } catch (AgentException $refusal) {
            return $refusal->isNotFound() ? false : throw $refusal;
        }
    }

    /** With those on the way. One that is there already is refused as already_exists. */
    public function makeDirectory(string $path): FileInfo
    {
        return $this->call('MakeDir', ['path' => $path], Repeat::IfNotCarriedOut)->object('entry', FileInfo::read(...));
    }

    /** What is at the destination is replaced. */
    public function move(string $from, string $to): FileInfo
    {
        return $this->call('Move', ['source' => $from, 'destination' => $to], Repeat::IfNotCarriedOut)
            ->object('entry', FileInfo::read(...));
    }

    /** With all that is below; what is not there is no error. */
    public function remove(string $path): void
    {
        $this->call('Remove', ['path' => $path]);
    }

    /**
     * The changes of a directory from this call on, until it is iterated no more.
     *
     * @return \Generator<int, FileEvent>
     */
    public function watch(string $path, bool $recursive = false): \Generator
    {
        $message = ['path' => $path, 'recursive' => $recursive];
        $stream = $this->plane->stream('filesystem.Filesystem/WatchDir', $message, $this->user);
        if ($stream->next()?->fields('start') === null) {
            throw new StreamCutException("{$path} is not watched: the stream began with no start.");
        }
        return self::events($stream);
    }

    /** @return \Generator<int, FileEvent> */
    private static function events(EnvelopeStream $stream): \Generator
    {
        try {
            while (($message = $stream->next()) !== null) {
                $event = $message->fields('filesystem');
                if ($event !== null) {
                    yield new FileEvent($event->string('name'), $event->enum('type', FileChange::class));
                }
            }
        } finally {
            $stream->close();
        }
    }

    /** @param array<string, mixed> $message */
    private function call(string $method, array $message, Repeat $repeat = Repeat::Safe): Fields
    {
        return $this->plane->call("filesystem.Filesystem/{$method}", $message, $repeat, $this->user);
    }

    /** @return array<string, string|null> */
    private function query(string $path): array
    {
        return ['path' => $path, 'username' => $this->user];
    }
}
